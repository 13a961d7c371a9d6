#ifndef ODYSSEY_SUPERVISOR_RPC_OUTPUT_STREAM_H_
#define ODYSSEY_SUPERVISOR_RPC_OUTPUT_STREAM_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "common/os/unique_fd.h"
#include "supervisor/rpc/run_output.h"

namespace odyssey::supervisor {

// One stream of a command's output: the descriptor it is read from, how much of it is delivered,
// and the copy of what is not. For the loop's thread alone.
class OutputStream final {
 public:
  using MakeCopy = std::function<std::shared_ptr<RunOutput>()>;

  // Of `cap` bytes, 0 = unlimited, the rest is dropped.
  explicit OutputStream(uint64_t cap) : cap_(cap) {}

  // Before Open: what the cap cuts off goes, with what came before it, to the copy made then.
  void CopyCutOutputTo(MakeCopy make_copy) { make_copy_ = std::move(make_copy); }
  // `fd` does not block.
  void Open(UniqueFd fd) { fd_ = std::move(fd); }

  int fd() const { return fd_.get(); }
  bool open() const { return static_cast<bool>(fd_); }
  void set_readable(bool readable) { readable_ = readable; }
  // There may be something to read, and room for it in the copy.
  bool WantsRead() const { return fd_ && readable_ && !(copy_ && copy_->full()); }

  // The next piece, for Keep and Cut; empty if only what Cut held back is left. False if there is
  // none for now, or no more: then the descriptor is closed.
  bool Read(std::string* piece);
  // Remembers the piece for a copy; nothing is written of a stream that stays within its cap.
  void Keep(std::string_view piece);
  // Counts the piece and cuts it to what the cap leaves of it. False if that is nothing. The cap
  // splits no UTF-8 character: it leaves up to 3 bytes less, and the beginning of a character that
  // may not fit is held back until more of it, or the end, is read.
  bool Cut(std::string* piece);

  // No writer is left: what the descriptor holds is all there will be.
  void ReadToTheEnd() { readable_ = ending_ = true; }
  // True if nothing of the stream is still to be written.
  bool CopyDone();

  uint64_t bytes() const { return bytes_; }
  bool truncated() const { return truncated_; }
  const std::shared_ptr<RunOutput>& copy() const { return copy_; }

 private:
  ssize_t ReadInto(std::string* piece);

  // One read of a quiet stream; of a loud one, whose pipe is then enlarged to match (the largest
  // that an unprivileged process may have by default, fs.pipe-max-size).
  static constexpr size_t kSmallChunk = 64 * 1024;
  static constexpr size_t kLargeChunk = 1024 * 1024;

  const uint64_t cap_;
  UniqueFd fd_;
  bool readable_ = false;
  bool ending_ = false;
  size_t chunk_ = kSmallChunk;
  uint64_t bytes_ = 0;
  uint64_t delivered_ = 0;  // with a cap
  bool truncated_ = false;
  std::string begun_;  // of a character, at most 3 bytes
  MakeCopy make_copy_;
  std::string held_;  // of a stream that is to be kept and not yet cut: at most `cap_` bytes
  std::shared_ptr<RunOutput> copy_;  // of one that is cut
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_OUTPUT_STREAM_H_
