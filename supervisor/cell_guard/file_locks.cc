#include "supervisor/cell_guard/file_locks.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "common/os/file.h"
#include "supervisor/cell_guard/kernel_request.h"

namespace odyssey::cell_guard {
namespace {

constexpr uint64_t kToTheEnd = INT64_MAX;  // the kernel's OFFSET_MAX

// As F_OFD_SETLK takes it.
struct flock RangeOf(const fuse_file_lock& lock) {
  struct flock range {};
  range.l_type = static_cast<short>(lock.type);
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(lock.start);
  range.l_len = lock.end >= kToTheEnd ? 0 : static_cast<off_t>(lock.end - lock.start + 1);
  return range;
}

// Another open file of what `fd` is, for locks of either kind if its owner may write it.
UniqueFd OpenAgain(int fd) {
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  for (const int mode : {O_RDWR, O_RDONLY, O_WRONLY}) {
    UniqueFd again(open(link.c_str(), mode | O_CLOEXEC | O_NONBLOCK));
    if (again) return again;
  }
  return {};
}

// The locks that the kernel keeps for an open file of ours; kMostRanges if it does not tell.
size_t CountRanges(int fd) {
  constexpr size_t kMostBytes = size_t{16} << 20;
  constexpr std::string_view kLine = "lock:\t";
  const auto text = ReadFile("/proc/self/fdinfo/" + std::to_string(fd), kMostBytes);
  if (!text.ok()) return FileLocks::kMostRanges;
  size_t count = 0;
  for (size_t at = 0; (at = text->find(kLine, at)) != std::string::npos; at += kLine.size())
    ++count;
  return count;
}

bool IsUnlock(const fuse_lk_in& in) { return in.lk.type == F_UNLCK; }

bool WouldWait(int error) { return error == EAGAIN; }

}  // namespace

bool FileLocks::Take(void* request, size_t bytes, const Judge& judge, const Send& send) {
  fuse_in_header header;
  if (bytes < sizeof(header)) return false;
  memcpy(&header, request, sizeof(header));
  if (header.opcode == FUSE_INTERRUPT) {
    const auto* interrupt = ArgumentsIn<fuse_interrupt_in>(request, bytes);
    return interrupt != nullptr && CancelWait(interrupt->unique, send);
  }
  const bool waits = header.opcode == FUSE_SETLKW;
  const bool looks = header.opcode == FUSE_GETLK;
  if (!waits && !looks && header.opcode != FUSE_SETLK) return false;
  const auto* in = ArgumentsIn<fuse_lk_in>(request, bytes);
  if (in == nullptr) return false;
  const Request lock{header.unique, header.nodeid, *in};
  const int error = IsUnlock(*in) ? 0 : judge(static_cast<int>(in->fh));
  Answer answer{.unique = header.unique, .error = error};
  if (error == 0) answer = looks ? Look(lock) : Try(lock);
  if (waits && error == 0 && WouldWait(answer.error)) {
    waiting_.push_back(lock);
  } else {
    send(answer);
  }
  return true;
}

bool FileLocks::CancelWait(uint64_t unique, const Send& send) {
  const auto given_up = std::find_if(waiting_.begin(), waiting_.end(),
                                     [&](const Request& one) { return one.unique == unique; });
  if (given_up == waiting_.end()) return false;
  waiting_.erase(given_up);
  send({.unique = unique, .error = EINTR});
  return true;
}

FileLocks::Answer FileLocks::Try(const Request& request) {
  const bool of_open_file = (request.in.lk_flags & FUSE_LK_FLOCK) != 0;
  const int error = of_open_file ? TryOpenFile(request) : TryRange(request);
  if (IsUnlock(request.in)) given_back_ = true;
  const bool locked = error == 0 && !IsUnlock(request.in);
  return {.unique = request.unique, .error = error, .locked_node = locked ? request.node : 0};
}

int FileLocks::TryOpenFile(const Request& request) {
  const int type = request.in.lk.type == F_WRLCK ? LOCK_EX : LOCK_SH;
  const int operation = IsUnlock(request.in) ? LOCK_UN : type | LOCK_NB;
  return flock(static_cast<int>(request.in.fh), operation) == 0 ? 0 : errno;
}

int FileLocks::TryRange(const Request& request) {
  const int fd = static_cast<int>(request.in.fh);
  const std::optional<Key> key = KeyOf(fd, request.in.owner);
  if (!key) return ENOLCK;
  auto held = ranges_.find(*key);
  if (held == ranges_.end()) {
    if (IsUnlock(request.in)) return 0;
    UniqueFd again = OpenAgain(fd);
    if (!again) return ENOLCK;
    held = ranges_.emplace(*key, Held{std::move(again)}).first;
  }
  held->second.by = fd;
  const struct flock range = RangeOf(request.in.lk);
  if (IsUnlock(request.in) && range.l_start == 0 && range.l_len == 0) {
    ranges_.erase(held);
    return 0;
  }
  if (!IsRoomForRange()) return ENOLCK;
  return fcntl(held->second.file.get(), F_OFD_SETLK, &range) == 0 ? 0 : errno;
}

// A lock within another's range leaves three, and so does what is unlocked of one leave two.
bool FileLocks::IsRoomForRange() {
  constexpr size_t kRecords = 2;
  if (most_there_can_be_ + kRecords > kMostRanges) {
    most_there_can_be_ = 0;
    for (const auto& [key, held] : ranges_) most_there_can_be_ += CountRanges(held.file.get());
  }
  if (most_there_can_be_ + kRecords > kMostRanges) return false;
  most_there_can_be_ += kRecords;
  return true;
}

// Whose lock is in the way is not told: no process of the cell's as the host counts them.
FileLocks::Answer FileLocks::Look(const Request& request) {
  const int fd = static_cast<int>(request.in.fh);
  const std::optional<Key> key = KeyOf(fd, request.in.owner);
  if (!key) return {.unique = request.unique, .error = ENOLCK};
  const auto held = ranges_.find(*key);
  struct flock range = RangeOf(request.in.lk);
  if (fcntl(held == ranges_.end() ? fd : held->second.file.get(), F_OFD_GETLK, &range) != 0) {
    return {.unique = request.unique, .error = errno};
  }
  fuse_lk_out found{};
  found.lk.type = static_cast<uint32_t>(range.l_type);
  found.lk.start = static_cast<uint64_t>(range.l_start);
  found.lk.end = range.l_len == 0 ? kToTheEnd
                                  : static_cast<uint64_t>(range.l_start) +
                                        static_cast<uint64_t>(range.l_len) - 1;
  return {.unique = request.unique, .found = found};
}

void FileLocks::Closed(int fd, uint64_t owner) {
  if (ranges_.empty()) return;
  const std::optional<Key> key = KeyOf(fd, owner);
  if (key && ranges_.erase(*key) != 0) given_back_ = true;
}

void FileLocks::Released(int fd) {
  std::erase_if(ranges_, [fd](const auto& one) { return one.second.by == fd; });
  given_back_ = true;
}

bool FileLocks::IsTimeToRetry() {
  const bool given_back = std::exchange(given_back_, false);
  if (waiting_.empty()) return given_back;
  const auto now = std::chrono::steady_clock::now();
  if (!given_back && now < next_try_) return false;
  next_try_ = now + std::chrono::milliseconds(kBetweenTriesMs);
  return true;
}

void FileLocks::Retry(const Judge& judge, const Send& send) {
  for (auto one = waiting_.begin(); one != waiting_.end();) {
    const int error = judge(static_cast<int>(one->in.fh));
    const Answer answer = error == 0 ? Try(*one) : Answer{.unique = one->unique, .error = error};
    if (WouldWait(answer.error)) {
      ++one;
    } else {
      send(answer);
      one = waiting_.erase(one);
    }
  }
}

std::optional<FileLocks::Key> FileLocks::KeyOf(int fd, uint64_t owner) const {
  struct stat file;
  if (fstat(fd, &file) != 0) return std::nullopt;
  return Key{file.st_dev, file.st_ino, owner};
}

}  // namespace odyssey::cell_guard
