#ifndef ODYSSEY_SUPERVISOR_RPC_RUN_OUTPUT_H_
#define ODYSSEY_SUPERVISOR_RPC_RUN_OUTPUT_H_

// The whole of an output stream that a cap cuts, written to a file of the command's run while the
// command goes on. The cell's file worker writes it, so that it counts as the cell's and stays
// within its limits. For the loop's thread alone.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "supervisor/rpc/file_worker.h"
#include "supervisor/wire/tool_wire.h"

namespace odyssey::supervisor {

// The most that is kept of a stream: a command that never stops writing must not fill a disk that
// nothing else bounds.
inline constexpr uint64_t kMaxKeptBytes = uint64_t{256} << 20;

class RunOutput final : public std::enable_shared_from_this<RunOutput> {
 public:
  struct Wiring {
    // One request to the cell's file worker. Answers later, never from within; an answer that
    // carries an error is one.
    std::function<void(const tool::Request&, FileWorker::Answer)> ask;
    // Called when full() or done() may answer otherwise.
    std::function<void()> progress;
  };
  // `path` is the file, relative to the directory of runs; what is there is replaced.
  RunOutput(Wiring wiring, std::string path) : wiring_(std::move(wiring)), path_(std::move(path)) {}

  void Add(std::string_view bytes);
  // No more comes.
  void Close() { closed_ = true; }

  // So much waits to be written that the caller should stop reading.
  bool full() const;
  // Everything is written, or nothing more will be.
  bool done() const { return !writing_ && waiting_.empty() && (closed_ || !failure_.ok()); }
  // Not empty: the file ends early, and why.
  const std::string& error() const { return failure_.message(); }

 private:
  void WriteSome();
  void Write();
  void OnWritten(const Status& status);

  const Wiring wiring_;
  const std::string path_;
  std::string waiting_;
  std::string piece_;     // with the worker
  bool writing_ = false;  // piece_ is
  bool closed_ = false;
  Status failure_;
  uint64_t accepted_ = 0;
  uint64_t written_ = 0;
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_RUN_OUTPUT_H_
