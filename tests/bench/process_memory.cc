#include "tests/bench/process_memory.h"

#include <sys/stat.h>

#include <algorithm>
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

Result<std::vector<pid_t>> ProcessesOfUid(uid_t uid) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (HasUid(entry.path(), uid)) found.push_back(std::stoi(name));
  }
  if (found.empty()) return NotFound("no process of uid " + std::to_string(uid));
  std::sort(found.begin(), found.end());
  return found;
}

double PssOf(pid_t pid) { return PssKibibytes("/proc/" + std::to_string(pid)) * 1024; }

Result<ProcessMemory> MemoryOfUid(uid_t uid) {
  ODY_ASSIGN_OR_RETURN(const std::vector<pid_t> processes, ProcessesOfUid(uid));
  ProcessMemory memory{.processes = static_cast<int>(processes.size())};
  for (const pid_t pid : processes) {
    memory.pss_bytes += PssOf(pid);
  }
  return memory;
}

}  // namespace odyssey::bench
