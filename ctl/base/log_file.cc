#include "ctl/base/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <utility>

#include "common/os/file.h"

namespace odyssey::ctl {
namespace {

Result<UniqueFd> OpenLog(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return ErrnoStatus(errno, "open log " + path);
  return fd;
}

std::string Now() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  tm parts{};
  gmtime_r(&now.tv_sec, &parts);
  char buffer[64];
  const size_t n = strftime(buffer, sizeof(buffer), "%Y-%m-%dT%H:%M:%S", &parts);
  snprintf(buffer + n, sizeof(buffer) - n, ".%03ldZ ", now.tv_nsec / 1'000'000);
  return buffer;
}

}  // namespace

LogFile::LogFile(std::string path, UniqueFd fd, uint64_t size)
    : path_(std::move(path)), fd_(std::move(fd)), size_(size) {}

Result<LogFile> LogFile::Open(const std::string& path) {
  ODY_ASSIGN_OR_RETURN(UniqueFd fd, OpenLog(path));
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, "stat " + path);
  return LogFile(path, std::move(fd), static_cast<uint64_t>(info.st_size));
}

void LogFile::Append(const std::string& line) {
  const std::string text = Now() + line + "\n";
  if (size_ + text.size() > kMaxBytes && rename(path_.c_str(), (path_ + ".1").c_str()) == 0) {
    Result<UniqueFd> next = OpenLog(path_);
    if (!next.ok()) return;
    fd_ = std::move(*next);
    size_ = 0;
  }
  if (WriteAll(fd_.get(), text).ok()) size_ += text.size();
}

}  // namespace odyssey::ctl
