#include "supervisor/rpc/file_worker.h"

#include <errno.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace odyssey::supervisor {
namespace {

constexpr auto kStartTimeout = std::chrono::seconds(10);
// Without a byte either way.
constexpr auto kIdleTimeout = std::chrono::seconds(30);
constexpr unsigned kOnlyPlace = 0;

// From the cell, which may hand over anything: epoll refuses some kinds of files.
bool IsStreamSocket(int fd) {
  int type = 0;
  socklen_t size = sizeof(type);
  return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

}  // namespace

FileWorker::FileWorker(EventLoop* loop, std::function<Status()> want, bool one_request)
    : loop_(loop), want_(std::move(want)), one_request_(one_request), group_(loop->NewGroup()) {}

FileWorker::~FileWorker() {
  loop_->Forget(group_);
  loop_->Cancel(timer_);
}

void FileWorker::Ask(const tool::Request& request, Answer answer) {
  if (state_ == State::kClosed) {
    loop_->Post([answer = std::move(answer), why = closed_] { answer(why); });
    return;
  }
  const std::string payload = tool::Encode(request);
  queue_.push_back({tool::FrameHeader(payload.size()) + payload, std::move(answer)});
  if (queue_.size() == 1) Next();
}

// The first request of the queue begins, or the worker that it needs.
void FileWorker::Next() {
  if (queue_.empty()) return;
  if (state_ == State::kIdle) {
    state_ = State::kSending;
    done_ = 0;
    Arm(kIdleTimeout);
    Pump();
    return;
  }
  if (state_ != State::kNone) return;
  state_ = State::kWanted;
  Arm(kStartTimeout);
  const Status wanted = want_();
  if (!wanted.ok()) OnFailed(wanted);
}

void FileWorker::Arm(Clock::duration timeout) {
  loop_->Cancel(timer_);
  timer_ = loop_->At(Clock::now() + timeout, [this] {
    if (state_ == State::kWanted) {
      OnFailed(Unavailable("the cell's file worker did not start"));
    } else {
      Finish(Unavailable("the cell's file worker ended: it did not answer in time"));
    }
  });
}

void FileWorker::OnStarted(UniqueFd socket) {
  if (state_ != State::kWanted || !IsStreamSocket(socket.get())) return;
  socket_ = std::move(socket);
  state_ = State::kIdle;
  loop_->Cancel(timer_);
  loop_->Watch(group_, kOnlyPlace, socket_.get(), EventLoop::When::kEitherEdge, [this] { Pump(); });
  Next();
}

void FileWorker::OnFailed(Status why) {
  if (state_ != State::kWanted) return;
  Hangup();
  FailAll(why);
}

void FileWorker::Close(Status why) {
  Hangup();
  state_ = State::kClosed;
  closed_ = std::move(why);
  FailAll(closed_);
}

// The requests of the queue were made by callers that may ask again when they are answered.
void FileWorker::FailAll(const Status& why) {
  for (Pending& pending : std::exchange(queue_, {})) {
    loop_->Post([answer = std::move(pending.answer), why] { answer(why); });
  }
}

void FileWorker::Hangup() {
  loop_->Forget(group_);
  loop_->Cancel(timer_);
  socket_.reset();
  state_ = State::kNone;
}

void FileWorker::Pump() {
  Status status;
  bool complete = false;
  if (state_ == State::kSending) status = Send();
  if (state_ == State::kReading && status.ok()) status = Receive(&complete);
  if (!status.ok()) return Finish(Unavailable("the cell's file worker ended: " + status.message()));
  if (!complete) return;
  tool::Response response;
  status = tool::Decode(std::string_view(answer_).substr(tool::kFrameHeaderBytes), &response);
  answer_ = std::string();
  if (!status.ok()) return Finish(Unavailable("the cell's file worker ended: " + status.message()));
  Finish(std::move(response));
}

Status FileWorker::Send() {
  const std::string& frame = queue_.front().frame;
  while (done_ < frame.size()) {
    const ssize_t n = TEMP_FAILURE_RETRY(send(socket_.get(), frame.data() + done_,
                                              frame.size() - done_, MSG_NOSIGNAL | MSG_DONTWAIT));
    if (n < 0 && errno == EAGAIN) return OkStatus();
    if (n < 0) return ErrnoStatus(errno, "send tool frame");
    done_ += static_cast<size_t>(n);
    Arm(kIdleTimeout);
  }
  state_ = State::kReading;
  done_ = 0;
  answer_.assign(tool::kFrameHeaderBytes, '\0');
  return OkStatus();
}

Status FileWorker::Receive(bool* complete) {
  for (;;) {
    const ssize_t n = TEMP_FAILURE_RETRY(
        recv(socket_.get(), answer_.data() + done_, answer_.size() - done_, MSG_DONTWAIT));
    if (n < 0 && errno == EAGAIN) return OkStatus();
    if (n < 0) return ErrnoStatus(errno, "receive tool frame");
    if (n == 0) return Unavailable("receive tool frame: peer closed");
    done_ += static_cast<size_t>(n);
    Arm(kIdleTimeout);
    if (done_ < answer_.size()) continue;
    if (done_ == tool::kFrameHeaderBytes) {
      ODY_ASSIGN_OR_RETURN(const size_t size, tool::PayloadSize(answer_));
      answer_.resize(tool::kFrameHeaderBytes + size);
    }
    *complete = done_ == answer_.size();
    if (*complete) return OkStatus();
  }
}

// The first request of the queue is over. A conversation that broke cannot be picked up.
void FileWorker::Finish(Result<tool::Response> result) {
  const Answer answer = std::move(queue_.front().answer);
  queue_.pop_front();
  if (result.ok() && !one_request_) {
    state_ = State::kIdle;
    loop_->Cancel(timer_);
  } else {
    Hangup();
  }
  loop_->Post([answer, result = std::make_shared<Result<tool::Response>>(
                           std::move(result))]() mutable { answer(std::move(*result)); });
  Next();
}

}  // namespace odyssey::supervisor
