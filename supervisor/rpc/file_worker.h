#ifndef ODYSSEY_SUPERVISOR_RPC_FILE_WORKER_H_
#define ODYSSEY_SUPERVISOR_RPC_FILE_WORKER_H_

// rpc's end of the conversation with a cell's file worker: requests wait in a queue, and one at a
// time is with the worker. What the worker sends comes from inside the cell and is bounded. For the
// loop's thread alone.

#include <cstddef>
#include <deque>
#include <functional>
#include <string>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "supervisor/rpc/event_loop.h"
#include "supervisor/wire/tool_wire.h"

namespace odyssey::supervisor {

class FileWorker final {
 public:
  using Answer = Done<Result<tool::Response>>;

  // `loop` is borrowed. `want` asks cell-init for a worker: OnStarted or OnFailed is the answer.
  // `one_request`: a worker serves one request and ends.
  FileWorker(EventLoop* loop, std::function<Status()> want, bool one_request);
  ~FileWorker();
  FileWorker(const FileWorker&) = delete;
  FileWorker& operator=(const FileWorker&) = delete;

  // `answer` is called later, never from within Ask. UNAVAILABLE: the worker did not start, did not
  // answer in time, or ended.
  void Ask(const tool::Request& request, Answer answer);

  void OnStarted(UniqueFd socket);
  void OnFailed(Status why);
  // Nothing can be asked any more.
  void Close(Status why);

 private:
  enum class State {
    kNone,     // there is no worker, and none was asked for
    kWanted,   // cell-init was asked for one
    kIdle,     // connected
    kSending,  // the first request of the queue is on its way
    kReading,  // its answer is
    kClosed,
  };
  struct Pending {
    std::string frame;
    Answer answer;
  };

  void Next();
  void Pump();
  Status Send();
  // OK and `*complete`, or OK if more has to come.
  Status Receive(bool* complete);
  void Finish(Result<tool::Response> result);
  void Hangup();
  void FailAll(const Status& why);
  void Arm(Clock::duration timeout);

  EventLoop* const loop_;
  const std::function<Status()> want_;
  const bool one_request_;
  const uint64_t group_;
  State state_ = State::kNone;
  Status closed_;
  UniqueFd socket_;
  std::deque<Pending> queue_;
  size_t done_ = 0;     // bytes of the frame that were sent, or of the answer that came
  std::string answer_;  // its length, then the whole frame
  uint64_t timer_ = EventLoop::kNoTimer;
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_FILE_WORKER_H_
