#ifndef ODYSSEY_SUPERVISOR_RPC_INPUT_STREAM_H_
#define ODYSSEY_SUPERVISOR_RPC_INPUT_STREAM_H_

#include <string>

#include "common/os/unique_fd.h"

namespace odyssey::supervisor {

// A command's input: what its client wrote, and the descriptor that it is written to. For the
// loop's thread alone.
class InputStream final {
 public:
  // `fd` does not block.
  void Open(UniqueFd fd);

  int fd() const { return fd_.get(); }
  // It may be closed since.
  bool was_opened() const { return was_opened_; }

  // The next piece, when the last one has been taken.
  void Write(std::string data);
  // What was written is the end.
  void Finish() { finished_ = true; }

  // Writes what the descriptor takes; without a reader the rest is dropped.
  // True if the piece has been taken, once.
  bool Pump();
  void Close() { fd_.reset(); }

 private:
  UniqueFd fd_;
  bool was_opened_ = false;
  std::string piece_;
  size_t written_ = 0;  // of the piece
  bool pending_ = false;
  bool finished_ = false;
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_INPUT_STREAM_H_
