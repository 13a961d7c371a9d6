#ifndef ODYSSEY_COMMON_OS_UNIQUE_FD_H_
#define ODYSSEY_COMMON_OS_UNIQUE_FD_H_

#include <unistd.h>

#include <utility>

namespace odyssey {

// Owns a file descriptor. A raw `int fd` in a signature is borrowed; a UniqueFd means ownership
// passes. Async-signal-safe.
class UniqueFd final {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

}  // namespace odyssey

#endif  // ODYSSEY_COMMON_OS_UNIQUE_FD_H_
