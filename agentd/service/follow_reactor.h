#ifndef ODYSSEY_AGENTD_SERVICE_FOLLOW_REACTOR_H_
#define ODYSSEY_AGENTD_SERVICE_FOLLOW_REACTOR_H_

// A server stream that sends what a source has, then what comes, until the source ends or the
// client goes. Reads the source one batch at a time and only when the client has taken the previous
// one.

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/rpc/status_map.h"

namespace odyssey::service {

// Called by one thread at a time.
template <typename Message>
class FollowSource {
 public:
  virtual ~FollowSource() = default;
  // What comes next, in order; empty: nothing now.
  virtual Result<std::vector<Message>> Next() = 0;
  // After an empty Next: keeps `ready`, to be called once when there may be more, and returns true;
  // or returns false, and there is more already.
  virtual bool NotifyWhenMore(std::function<void()> ready) = 0;
  // After an empty Next: whether nothing will come any more.
  virtual bool ended() const = 0;
};

template <typename Message>
class FollowReactor final : public grpc::ServerWriteReactor<Message>,
                            public std::enable_shared_from_this<FollowReactor<Message>> {
 public:
  // Keeps a function that is called, at most once, when the caller may follow no longer: the handle
  // is dropped with the stream.
  using WatchCaller = std::function<std::shared_ptr<void>(std::function<void()> ended)>;

  // The reactor owns itself until gRPC is done with it.
  static grpc::ServerWriteReactor<Message>* Start(std::unique_ptr<FollowSource<Message>> source,
                                                  const WatchCaller& watch_caller) {
    const auto reactor = std::make_shared<FollowReactor>(std::move(source));
    reactor->self_ = reactor;
    const std::weak_ptr<FollowReactor> weak = reactor;
    reactor->watch_ = watch_caller([weak] {
      if (const auto following = weak.lock()) following->OnCallerEnded();
    });
    reactor->Proceed();
    return reactor.get();
  }

  explicit FollowReactor(std::unique_ptr<FollowSource<Message>> source)
      : source_(std::move(source)) {}

  void OnWriteDone(bool ok) override {
    {
      std::lock_guard lock(mutex_);
      state_ = State::kIdle;
      if (!ok && !stop_) stop_ = grpc::Status::CANCELLED;
    }
    Proceed();
  }
  void OnCancel() override { Stop(grpc::Status::CANCELLED); }
  void OnDone() override { const auto self = std::move(self_); }

 private:
  enum class State { kIdle, kWriting, kWaiting, kFinished };

  void OnCallerEnded() { Stop({grpc::StatusCode::UNAUTHENTICATED, "the token has ended"}); }

  // Ends the stream once no write is under way.
  void Stop(const grpc::Status& status) {
    {
      std::lock_guard lock(mutex_);
      if (!stop_) stop_ = status;
      if (state_ == State::kWaiting) state_ = State::kIdle;
    }
    Proceed();
  }

  // Starts the next operation if none is under way.
  void Proceed() {
    const auto self = this->shared_from_this();
    std::lock_guard lock(mutex_);
    while (state_ == State::kIdle) {
      if (stop_) return FinishWith(*stop_);
      if (sent_ < batch_.size()) {
        state_ = State::kWriting;
        this->StartWrite(&batch_[sent_++]);
        return;
      }
      Result<std::vector<Message>> next = source_->Next();
      if (!next.ok()) return FinishWith(rpc::ToGrpc(next.status()));
      batch_ = *std::move(next);
      sent_ = 0;
      if (batch_.empty() && !Wait()) return;
    }
  }

  // False: the stream has ended. Called with the lock; the source calls `ready` without its own.
  bool Wait() {
    if (source_->ended()) {
      FinishWith(grpc::Status::OK);
      return false;
    }
    state_ = State::kWaiting;
    const std::weak_ptr<FollowReactor> weak = this->weak_from_this();
    const bool waits = source_->NotifyWhenMore([weak] {
      if (const auto reactor = weak.lock()) reactor->OnMore();
    });
    if (!waits) state_ = State::kIdle;
    return true;
  }

  void OnMore() {
    {
      std::lock_guard lock(mutex_);
      if (state_ != State::kWaiting) return;
      state_ = State::kIdle;
    }
    Proceed();
  }

  void FinishWith(const grpc::Status& status) {
    state_ = State::kFinished;
    this->Finish(status);
  }

  const std::unique_ptr<FollowSource<Message>> source_;
  std::shared_ptr<FollowReactor> self_;
  std::shared_ptr<void> watch_;
  std::mutex mutex_;
  // All below: guarded by mutex_.
  State state_ = State::kIdle;
  std::optional<grpc::Status> stop_;  // why the stream is to end
  std::vector<Message> batch_;
  size_t sent_ = 0;
};

// A stream that fails at once.
template <typename Message>
class FailedReactor final : public grpc::ServerWriteReactor<Message> {
 public:
  explicit FailedReactor(const Status& status) { this->Finish(rpc::ToGrpc(status)); }
  void OnDone() override { delete this; }
};

}  // namespace odyssey::service

#endif  // ODYSSEY_AGENTD_SERVICE_FOLLOW_REACTOR_H_
