#include "tests/bench/process_memory.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace odyssey::bench {
namespace {

// Kibibytes in the "Pss:" line; 0 for a process that has ended.
double PssKibibytes(const std::filesystem::path& process) {
  std::ifstream in(process / "smaps_rollup");
  for (std::string word; in >> word;) {
    if (word != "Pss:") continue;
    double kibibytes = 0;
    in >> kibibytes;
    return kibibytes;
  }
  return 0;
}

// The real uid; false if the process has ended. Not the owner of the directory in /proc, which is
// root for a process that is not dumpable.
bool HasUid(const std::filesystem::path& process, uid_t uid) {
  std::ifstream in(process / "status");
  for (std::string word; in >> word;) {
    if (word != "Uid:") continue;
    uid_t real = 0;
    in >> real;
    return in && real == uid;
  }
  return false;
}

}  // namespace

Result<ProcessMemory> MemoryOfUid(uid_t uid) {
  ProcessMemory memory;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (!HasUid(entry.path(), uid)) continue;
    ++memory.processes;
    memory.pss_bytes += PssKibibytes(entry.path()) * 1024;
  }
  if (memory.processes == 0) return NotFound("no process of uid " + std::to_string(uid));
  return memory;
}

}  // namespace odyssey::bench
