#include "agentd/service/session_exec.h"

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "agentd/event/command_events.h"
#include "agentd/event/command_output.h"
#include "agentd/event/journal.h"
#include "agentd/event/redacted_events.h"
#include "agentd/sandbox/exec_cancel.h"
#include "agentd/service/session_access.h"
#include "agentd/tool/tool.h"
#include "common/base/utf8.h"
#include "common/message/enum_name.h"
#include "common/rpc/status_map.h"

namespace odyssey::service {
namespace {

namespace sup = ::odyssey::supervisor::v1;

// Of each stream of an operator's command; he himself has all of it.
constexpr size_t kJournaledBytes = 64 * 1024;

// What an operator runs is told in the session's journal as a turn's commands are, under an id of
// its own.
class OperatorRecord final {
 public:
  OperatorRecord(std::shared_ptr<event::Journal> journal, std::string operator_id,
                 const sup::ExecStart& start)
      : journal_(std::move(journal)), id_{std::move(operator_id), ""} {
    command_.assign(start.argv().begin(), start.argv().end());
    for (std::string& word : command_) word = SanitizeUtf8(word);
    cwd_ = start.cwd().empty() ? tools::kWorkspace : SanitizeUtf8(start.cwd());
  }

  // Before the command begins: what the journal does not get.
  void Redact(const std::map<std::string, std::string>& secrets) {
    redactor_ = agent::Redactor(secrets);
    for (std::string& word : command_) word = redactor_.Text(word);
  }

  void Note(const sup::ExecResponse& response) {
    if (response.has_started()) {
      id_.exec_id = response.started().exec_id();
      Append(event::CommandBegins(id_, command_, cwd_));
    } else if (response.has_output()) {
      const bool is_stderr = response.output().stream() == sup::OUTPUT_STREAM_STDERR;
      NoteOutput(response.output().data(), is_stderr ? &err_ : &out_);
    } else if (response.has_denial()) {
      Append(event::AccessIsDenied(id_.turn_id, "", response.denial()));
    } else if (response.has_outcome()) {
      for (const sup::EgressDecision& decision : response.outcome().egress()) {
        Append(event::EgressIsDecided(id_.turn_id, "", decision));
      }
      const bool exited = response.outcome().kind() == sup::OUTCOME_KIND_EXITED;
      End(exited ? response.outcome().exit_code() : -1,
          message::EnumName(response.outcome().kind()));
    }
  }
  // The call has ended, perhaps without an outcome.
  void Close(bool cancelled) { End(-1, cancelled ? "cancelled" : "setup_failed"); }

 private:
  struct Captured {
    event::CommandOutput output;
    size_t left = kJournaledBytes;
    bool cut = false;
  };

  void NoteOutput(std::string_view data, Captured* stream) {
    if (stream->cut) return;
    const std::string_view kept = data.substr(0, stream->left);
    stream->left -= kept.size();
    stream->cut = kept.size() < data.size();
    std::string text = stream->output.Push(kept);
    if (stream->cut) text += stream->output.End(true);
    Deliver(*stream, std::move(text));
  }
  void Deliver(const Captured& stream, std::string text) {
    if (text.empty()) return;
    Append(event::CommandPrints(id_, stream.output.name(), std::move(text)));
  }
  void EndStream(const Captured& stream) {
    if (!stream.cut) Deliver(stream, stream.output.End(false));
  }

  void End(int32_t exit_code, const std::string& outcome) {
    if (id_.exec_id.empty()) return;
    EndStream(out_);
    EndStream(err_);
    Append(event::CommandEnds(id_, exit_code, outcome));
    id_.exec_id.clear();
  }
  // A journal that cannot be written does not stop an operator, who may be there to make room.
  void Append(event::Event event) {
    for (event::Event& recorded : events_.Of(std::move(event))) {
      (void)journal_->Append(std::move(recorded), event::Durability::kBatched);
    }
  }

  const std::shared_ptr<event::Journal> journal_;
  agent::Redactor redactor_{std::map<std::string, std::string>()};
  event::RedactedEvents events_{&redactor_};
  std::vector<std::string> command_;
  std::string cwd_;
  event::CommandId id_;  // exec_id: of the command that has begun and not ended
  Captured out_{event::CommandOutput("stdout")};
  Captured err_{event::CommandOutput("stderr")};
};

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
  SessionExecReactor(session::Sessions* sessions, PreparedExecs* prepared,
                     std::shared_ptr<sup::Supervisor::Stub> supervisor,
                     const grpc::CallbackServerContext* call)
      : sessions_(sessions),
        prepared_(prepared),
        supervisor_(std::move(supervisor)),
        call_(call),
        upstream_(this) {}

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
    if (!ok) cancel_.Request();
    upstream_.StartRead(&response_);
  }
  void OnCancel() override {
    std::shared_ptr<session::OperatorHold> waiting;
    {
      std::lock_guard lock(mutex_);
      cancelled_ = true;
      if (upstream_open_) {
        cancel_.Request();
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
      if (response_.has_started()) cancel_.OnStarted(response_.started().exec_id());
      record_->Note(response_);
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
      record_->Close(cancelled_ || hold_->stop_token().stop_requested());
      hold = std::move(hold_);
    }
    hold->Release();
    Finish(status);
  }

 private:
  // The session's own cell shows the owner's variables: it is not for admins. A prepared one is for
  // the user that has prepared it.
  Status Admit(const std::string& id) {
    if (!PreparedExecs::IsId(id)) {
      session_id_ = id;
      return CheckCaller(*sessions_, id, *call_);
    }
    ODY_ASSIGN_OR_RETURN(const uid_t caller, CallerOf(sessions_->runtime(), *call_));
    ODY_ASSIGN_OR_RETURN(PreparedExec prepared, prepared_->Take(id, caller));
    session_id_ = prepared.session_id;
    policy_ = std::move(prepared.policy);
    return CheckCallerOrAdmin(*sessions_, session_id_, *call_, "SessionExec");
  }

  // The first message names the session, or what was prepared for it.
  void Begin(bool ok, std::unique_lock<std::mutex>& lock) {
    if (!ok || !request_.has_start()) {
      return Finish(rpc::ToGrpc(InvalidArgument("the first message must be `start`")));
    }
    const Status may = Admit(request_.start().cell_id());
    if (!may.ok()) return Finish(rpc::ToGrpc(may));
    Result<std::shared_ptr<event::Journal>> journal = sessions_->JournalOf(session_id_);
    if (!journal.ok()) return Finish(rpc::ToGrpc(journal.status()));
    record_.emplace(*std::move(journal), sessions_->runtime().ids->New("opr"), request_.start());
    lock.unlock();
    Result<std::shared_ptr<session::OperatorHold>> hold = sessions_->Hold(
        session_id_,
        [self = shared_from_this()](Result<std::string> cell_id) {
          self->OnHeld(std::move(cell_id));
        },
        policy_);
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
    // The values that the cell was just prepared with. A session that is held is not removed.
    const Result<session::SessionPtr> record =
        sessions_->runtime().store->GetWithoutTurns(session_id_);
    if (record.ok()) record_->Redact(SecretsFor(**record));
    cell_id_ = *std::move(cell_id);
    if (hold_) StartUpstream();
  }

  // The operator's own values are not for the journal either, which the session's owner reads.
  std::map<std::string, std::string> SecretsFor(const session::SessionRecord& record) const {
    std::map<std::string, std::string> out = session::SecretsOf(record);
    if (policy_) {
      for (const auto& [name, value] : session::SecretsOf(*policy_)) {
        out["operator's " + name] = value;
      }
    }
    return out;
  }

  // Called with the lock, when both the hold and the cell are known.
  void StartUpstream() {
    request_.mutable_start()->set_cell_id(*cell_id_);
    supervisor_->async()->Exec(upstream_context_.get(), &upstream_);
    upstream_open_ = true;
    upstream_.AddHold();
    upstream_.StartWrite(&request_);
    upstream_.StartRead(&response_);
    upstream_.StartCall();
    if (cancelled_) cancel_.Request();
    stop_.emplace(hold_->stop_token(), [this] { cancel_.Request(); });
  }

  session::Sessions* const sessions_;
  PreparedExecs* const prepared_;
  const std::shared_ptr<sup::Supervisor::Stub> supervisor_;
  const grpc::CallbackServerContext* const call_;
  std::shared_ptr<SessionExecReactor> self_;
  const std::shared_ptr<grpc::ClientContext> upstream_context_ =
      std::make_shared<grpc::ClientContext>();
  sandbox::ExecCancel cancel_{supervisor_.get(), upstream_context_};
  Upstream upstream_;
  sup::ExecRequest request_;    // on its way up: read, then written
  sup::ExecResponse response_;  // on its way down
  std::string session_id_;
  std::optional<session::OperatorPolicy> policy_;  // of what was prepared
  std::optional<std::stop_callback<std::function<void()>>> stop_;

  std::mutex mutex_;
  // All below: guarded by mutex_.
  bool begun_ = false;
  bool cancelled_ = false;
  bool held_ = false;
  bool upstream_open_ = false;
  std::optional<std::string> cell_id_;
  std::optional<OperatorRecord> record_;
  std::shared_ptr<session::OperatorHold> hold_;
};

void Upstream::OnWriteDone(bool ok) { owner_->OnUpstreamWriteDone(ok); }
void Upstream::OnReadDone(bool ok) { owner_->OnUpstreamReadDone(ok); }
void Upstream::OnDone(const grpc::Status& status) { owner_->OnUpstreamDone(status); }

}  // namespace

grpc::ServerBidiReactor<sup::ExecRequest, sup::ExecResponse>* StartSessionExec(
    session::Sessions* sessions, PreparedExecs* prepared,
    std::shared_ptr<sup::Supervisor::Stub> supervisor, const grpc::CallbackServerContext* call) {
  const auto reactor =
      std::make_shared<SessionExecReactor>(sessions, prepared, std::move(supervisor), call);
  reactor->Start();
  return reactor.get();
}

}  // namespace odyssey::service
