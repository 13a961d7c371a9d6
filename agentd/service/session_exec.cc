#include "agentd/service/session_exec.h"

#include <mutex>
#include <optional>
#include <utility>

#include "common/rpc/status_map.h"

namespace odyssey::service {
namespace {

namespace sup = ::odyssey::supervisor::v1;

class SessionExecReactor;

// The call to the supervisor; forwards what happens to its owner, which outlives it.
class Upstream final : public grpc::ClientBidiReactor<sup::ExecRequest, sup::ExecResponse> {
 public:
  explicit Upstream(SessionExecReactor* owner) : owner_(owner) {}
  void OnWriteDone(bool ok) override;
  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

 private:
  SessionExecReactor* const owner_;
};

class SessionExecReactor final
    : public grpc::ServerBidiReactor<sup::ExecRequest, sup::ExecResponse>,
      public std::enable_shared_from_this<SessionExecReactor> {
 public:
  SessionExecReactor(session::Sessions* sessions, std::shared_ptr<sup::Supervisor::Stub> supervisor)
      : sessions_(sessions), supervisor_(std::move(supervisor)), upstream_(this) {}

  void Start() {
    self_ = shared_from_this();
    StartRead(&request_);
  }

  // Of the client's side.
  void OnReadDone(bool ok) override {
    std::unique_lock lock(mutex_);
    if (!begun_) {
      begun_ = true;
      return Begin(ok, lock);
    }
    if (!upstream_open_) return;
    if (ok) {
      upstream_.StartWrite(&request_);
    } else {
      upstream_.StartWritesDone();
    }
  }
  void OnWriteDone(bool ok) override {
    std::lock_guard lock(mutex_);
    if (!upstream_open_) return;
    if (!ok) upstream_context_.TryCancel();
    upstream_.StartRead(&response_);
  }
  void OnCancel() override {
    std::shared_ptr<session::OperatorHold> waiting;
    {
      std::lock_guard lock(mutex_);
      cancelled_ = true;
      if (upstream_open_) {
        upstream_context_.TryCancel();
      } else {
        waiting = hold_;
      }
    }
    if (waiting) sessions_->StopHold(session_id_, waiting);
  }
  void OnDone() override { const auto self = std::move(self_); }

  // Of the supervisor's side.
  void OnUpstreamWriteDone(bool ok) {
    std::lock_guard lock(mutex_);
    if (ok && upstream_open_) StartRead(&request_);
  }
  void OnUpstreamReadDone(bool ok) {
    std::lock_guard lock(mutex_);
    if (ok) {
      StartWrite(&response_);
      return;
    }
    upstream_open_ = false;  // nothing is started on it any more, so it may end
    upstream_.RemoveHold();
  }
  void OnUpstreamDone(const grpc::Status& status) {
    const auto self = shared_from_this();
    stop_.reset();
    std::shared_ptr<session::OperatorHold> hold;
    {
      std::lock_guard lock(mutex_);
      hold = std::move(hold_);
    }
    hold->Release();
    Finish(status);
  }

 private:
  // The first message names the session.
  void Begin(bool ok, std::unique_lock<std::mutex>& lock) {
    if (!ok || !request_.has_start()) {
      return Finish(rpc::ToGrpc(InvalidArgument("the first message must be `start`")));
    }
    session_id_ = request_.start().cell_id();
    lock.unlock();
    Result<std::shared_ptr<session::OperatorHold>> hold =
        sessions_->Hold(session_id_, [self = shared_from_this()](Result<std::string> cell_id) {
          self->OnHeld(std::move(cell_id));
        });
    if (!hold.ok()) return Finish(rpc::ToGrpc(hold.status()));
    lock.lock();
    hold_ = *hold;
    if (cell_id_) return StartUpstream();  // held already
    if (!cancelled_ || held_) return;
    lock.unlock();
    sessions_->StopHold(session_id_, *hold);
  }

  // Called once, by a worker.
  void OnHeld(Result<std::string> cell_id) {
    std::lock_guard lock(mutex_);
    held_ = true;
    if (!cell_id.ok()) {
      hold_.reset();
      return Finish(rpc::ToGrpc(cell_id.status()));
    }
    cell_id_ = *std::move(cell_id);
    if (hold_) StartUpstream();
  }

  // Called with the lock, when both the hold and the cell are known.
  void StartUpstream() {
    request_.mutable_start()->set_cell_id(*cell_id_);
    supervisor_->async()->Exec(&upstream_context_, &upstream_);
    upstream_open_ = true;
    upstream_.AddHold();
    upstream_.StartWrite(&request_);
    upstream_.StartRead(&response_);
    upstream_.StartCall();
    if (cancelled_) upstream_context_.TryCancel();
    stop_.emplace(hold_->stop_token(), [this] { upstream_context_.TryCancel(); });
  }

  session::Sessions* const sessions_;
  const std::shared_ptr<sup::Supervisor::Stub> supervisor_;
  std::shared_ptr<SessionExecReactor> self_;
  grpc::ClientContext upstream_context_;
  Upstream upstream_;
  sup::ExecRequest request_;    // on its way up: read, then written
  sup::ExecResponse response_;  // on its way down
  std::string session_id_;
  std::optional<std::stop_callback<std::function<void()>>> stop_;

  std::mutex mutex_;
  // All below: guarded by mutex_.
  bool begun_ = false;
  bool cancelled_ = false;
  bool held_ = false;
  bool upstream_open_ = false;
  std::optional<std::string> cell_id_;
  std::shared_ptr<session::OperatorHold> hold_;
};

void Upstream::OnWriteDone(bool ok) { owner_->OnUpstreamWriteDone(ok); }
void Upstream::OnReadDone(bool ok) { owner_->OnUpstreamReadDone(ok); }
void Upstream::OnDone(const grpc::Status& status) { owner_->OnUpstreamDone(status); }

}  // namespace

grpc::ServerBidiReactor<sup::ExecRequest, sup::ExecResponse>* StartSessionExec(
    session::Sessions* sessions, std::shared_ptr<sup::Supervisor::Stub> supervisor) {
  const auto reactor = std::make_shared<SessionExecReactor>(sessions, std::move(supervisor));
  reactor->Start();
  return reactor.get();
}

}  // namespace odyssey::service
