#include "supervisor/rpc/input_stream.h"

#include <errno.h>
#include <unistd.h>

#include <utility>

namespace odyssey::supervisor {

void InputStream::Open(UniqueFd fd) {
  fd_ = std::move(fd);
  was_opened_ = true;
}

void InputStream::Write(std::string data) {
  piece_ = std::move(data);
  written_ = 0;
  pending_ = true;
}

bool InputStream::Pump() {
  const bool had_piece = pending_;
  while (pending_) {
    const size_t left = piece_.size() - written_;
    const ssize_t n = (fd_ && left > 0) ? write(fd_.get(), &piece_[written_], left) : 0;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return false;
    if (n < 0) fd_.reset();
    written_ += n > 0 ? static_cast<size_t>(n) : left;
    pending_ = written_ < piece_.size();
  }
  piece_.clear();
  if (finished_) fd_.reset();
  return had_piece;
}

}  // namespace odyssey::supervisor
