#include "supervisor/rpc/linked_configuration.h"

#include <sys/stat.h>

#include "policy/executables/configuration.h"

namespace odyssey::supervisor {
namespace {

timespec EtcChanged() {
  struct stat info {};
  return stat("/etc", &info) == 0 ? info.st_mtim : timespec{};
}

bool IsGone(const compile::SystemEntry& entry) {
  struct stat info;
  return lstat(entry.path.c_str(), &info) != 0 ||
         S_ISLNK(info.st_mode) == entry.link_target.empty();
}

}  // namespace

LinkedConfiguration::LinkedConfiguration()
    : first_(std::async(std::launch::async, &LinkedConfiguration::Look)) {}

LinkedConfiguration::Found LinkedConfiguration::Look() {
  const timespec before = EtcChanged();
  return {before, executables::FindConfiguration()};
}

std::vector<compile::SystemEntry> LinkedConfiguration::Get() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (first_.valid()) found_ = first_.get();
  const timespec now = EtcChanged();
  if (now.tv_sec != found_.etc_changed.tv_sec || now.tv_nsec != found_.etc_changed.tv_nsec) {
    found_ = Look();
  }
  std::vector<compile::SystemEntry> entries = found_.entries;
  std::erase_if(entries, IsGone);
  return entries;
}

}  // namespace odyssey::supervisor
