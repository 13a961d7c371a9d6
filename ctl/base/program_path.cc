#include "ctl/base/program_path.h"

#include <unistd.h>

#include <filesystem>

namespace odyssey::ctl {
namespace {

constexpr char kInstalled[] = "/usr/libexec/odyssey";

}  // namespace

std::string OwnDirectory() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
}

Result<std::string> FindProgram(const std::string& name) {
  const std::string own = OwnDirectory();
  for (const std::string& directory : {own, std::string(kInstalled)}) {
    const std::string path = directory + "/" + name;
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return FailedPrecondition("find program " + name + ": not in " + own + ", nor in " + kInstalled);
}

}  // namespace odyssey::ctl
