#ifndef ODYSSEY_SUPERVISOR_RPC_RUN_OUTPUT_H_
#define ODYSSEY_SUPERVISOR_RPC_RUN_OUTPUT_H_

// The whole of an output stream that a cap cuts, written to a file of the command's run while the
// command goes on. It is the cell's file worker that writes, so what is written counts as the
// cell's and stays within its limits.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "policy/plan/tool_wire.h"

namespace odyssey::supervisor {

// One request to the cell's file worker and its answer; an answer that says an error is one.
// Blocking.
using AskWorker = std::function<Result<tool::Response>(const tool::Request&)>;

// The most that is kept of a stream: a command that never stops writing must not fill a disk that
// nobody else bounds.
inline constexpr uint64_t kMaxKeptBytes = uint64_t{256} << 20;

// Thread-safe, and never blocks its caller.
class RunOutput final : public std::enable_shared_from_this<RunOutput> {
 public:
  struct Wiring {
    AskWorker ask;
    // Does a job soon, on another thread, after those given before. False if it cannot.
    std::function<bool(std::function<void()>)> do_later;
    // Called on that thread, with no lock held, when full() or done() may answer otherwise.
    std::function<void()> progress;
  };
  // `path` is the file, relative to the directory of runs; what is there is replaced.
  RunOutput(Wiring wiring, std::string path) : wiring_(std::move(wiring)), path_(std::move(path)) {}

  void Add(std::string_view bytes);
  // No more comes.
  void Close();

  // So much waits to be written that the caller should stop reading.
  bool full() const;
  // Everything is written, or nothing more will be.
  bool done() const;
  // Not empty: the file ends early, and why.
  std::string error() const;

 private:
  void Schedule();
  void WriteSome();
  Status Write(const std::string& bytes);

  const Wiring wiring_;
  const std::string path_;
  mutable std::mutex mutex_;
  std::string waiting_;
  bool writing_ = false;  // a job is under way
  bool closed_ = false;
  Status failure_;
  uint64_t accepted_ = 0;
  uint64_t written_ = 0;  // only used by the job
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_RUN_OUTPUT_H_
