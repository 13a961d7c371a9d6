#include "supervisor/rpc/output_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "common/base/utf8.h"

namespace odyssey::supervisor {
namespace {

// Of a character whose beginning is there.
constexpr uint64_t kMostMissing = 3;

}  // namespace

// A small piece is read elsewhere first: to make room in the message would clear it, also for the
// end of the stream.
ssize_t OutputStream::ReadInto(std::string* piece) {
  static thread_local char small[kSmallChunk];
  const bool direct = chunk_ > kSmallChunk;
  if (direct) piece->resize(chunk_);
  ssize_t n;
  do {
    n = read(fd_.get(), direct ? piece->data() : small, chunk_);
  } while (n < 0 && errno == EINTR);
  if (direct && n > 0) piece->resize(static_cast<size_t>(n));
  if (!direct && n > 0) piece->assign(small, static_cast<size_t>(n));
  return n;
}

bool OutputStream::Read(std::string* piece) {
  const ssize_t n = ReadInto(piece);
  if (n < 0 && errno == EAGAIN && !ending_) {
    readable_ = false;
    return false;
  }
  if (n <= 0) {  // end, or EIO: a terminal's other side is closed
    fd_.reset();
    piece->clear();
    return !begun_.empty();
  }
  if (piece->size() == kSmallChunk && chunk_ == kSmallChunk) {
    chunk_ = kLargeChunk;
    fcntl(fd_.get(), F_SETPIPE_SZ, static_cast<int>(kLargeChunk));
  }
  return true;
}

void OutputStream::Keep(std::string_view piece) {
  if (!make_copy_ || cap_ == 0) return;
  if (copy_ == nullptr) {
    if (held_.size() + piece.size() <= cap_) {
      held_ += piece;
      return;
    }
    copy_ = make_copy_();
    copy_->Add(held_);
    held_ = std::string();
  }
  copy_->Add(piece);
}

bool OutputStream::Cut(std::string* piece) {
  bytes_ += piece->size();
  if (cap_ == 0) return !piece->empty();
  if (truncated_) return false;

  piece->insert(0, std::exchange(begun_, {}));
  const uint64_t room = cap_ - delivered_;
  truncated_ = piece->size() > room;
  if (truncated_) piece->resize(room);
  const bool near_the_cap = piece->size() + kMostMissing > room;
  if (truncated_ || (near_the_cap && fd_)) {
    const size_t complete = CompleteUtf8Prefix(*piece);
    if (!truncated_) begun_ = piece->substr(complete);
    piece->resize(complete);
  }
  delivered_ += piece->size();
  return !piece->empty();
}

bool OutputStream::CopyDone() {
  if (copy_ == nullptr) return true;
  if (fd_) return false;
  copy_->Close();
  return copy_->done();
}

}  // namespace odyssey::supervisor
