#include "agentd/service/session_service.h"

#include <utility>

#include "agentd/service/convert.h"
#include "agentd/service/follow_reactor.h"
#include "agentd/service/session_access.h"
#include "agentd/service/session_exec.h"
#include "agentd/service/version.h"
#include "agentd/tool/arguments.h"
#include "common/rpc/status_map.h"

namespace odyssey::service {
namespace {

using rpc::ToGrpc;

constexpr size_t kEventBatch = 64;

// The bytes of an event as gRPC sends them: the journal's own, which the buffer keeps alive.
grpc::ByteBuffer ToBuffer(const event::Encoded& encoded) {
  auto* const kept = new event::Encoded(encoded);
  const grpc::Slice slice(
      const_cast<char*>(encoded->data()), encoded->size(),
      [](void* owner) { delete static_cast<event::Encoded*>(owner); }, kept);
  return grpc::ByteBuffer(&slice, 1);
}

// A session's journal, from a sequence number on.
class JournalSource final : public FollowSource<grpc::ByteBuffer> {
 public:
  JournalSource(std::shared_ptr<event::Journal> journal, uint64_t after, bool follow)
      : follower_(std::move(journal), after), follow_(follow) {}

  Result<std::vector<grpc::ByteBuffer>> Next() override {
    ODY_ASSIGN_OR_RETURN(const std::vector<event::Encoded> events, follower_.Next(kEventBatch));
    std::vector<grpc::ByteBuffer> out;
    for (const event::Encoded& event : events) out.push_back(ToBuffer(event));
    // A follower would wait for what is not written, such as the end of a turn on a full disk.
    if (events.empty() && follow_) ODY_RETURN_IF_ERROR(follower_.journal().failure());
    return out;
  }
  bool NotifyWhenMore(std::function<void()> ready) override {
    return follower_.journal().NotifyAfter(follower_.position(), std::move(ready));
  }
  bool ended() const override {
    const event::Journal& journal = follower_.journal();
    return (!follow_ || journal.closed()) && journal.last_sequence() <= follower_.position();
  }

 private:
  event::Follower follower_;
  const bool follow_;
};

Result<uint64_t> LastSequence(const session::Sessions& sessions, const std::string& session_id) {
  ODY_ASSIGN_OR_RETURN(const auto journal, sessions.JournalOf(session_id));
  return journal->last_sequence();
}

}  // namespace

SessionService::SessionService(session::Sessions* sessions,
                               std::shared_ptr<grpc::Channel> supervisor)
    : sessions_(sessions), supervisor_(supervisor::v1::Supervisor::NewStub(supervisor)) {}

grpc::Status SessionService::GetInfo(grpc::ServerContext*, const pb::GetInfoRequest*,
                                     pb::GetInfoResponse* response) {
  const session::Runtime& runtime = sessions_->runtime();
  const Result<sandbox::SupervisorInfo> supervisor = runtime.sandbox->GetInfo();
  response->set_version(kVersion);
  response->set_supervisor_reachable(supervisor.ok());
  if (supervisor.ok()) response->set_supervisor_version(supervisor->version);
  response->set_sessions(static_cast<uint32_t>(runtime.store->size()));
  response->set_running_turns(static_cast<uint32_t>(sessions_->running_turns()));
  response->set_pending_approvals(static_cast<uint32_t>(runtime.approvals->size()));
  for (const std::string& path : runtime.store->quarantined()) response->add_quarantined(path);
  return grpc::Status::OK;
}

grpc::Status SessionService::CreateSession(grpc::ServerContext* context,
                                           const pb::CreateSessionRequest* request,
                                           pb::CreateSessionResponse* response) {
  const Result<uid_t> owner = CallerOf(*context);
  if (!owner.ok()) return ToGrpc(owner.status());
  const Result<session::SessionPtr> created =
      sessions_->Create({request->bundle(),
                         request->cwd(),
                         {request->env().begin(), request->env().end()},
                         request->agent_id(),
                         *owner,
                         request->allow_danger(),
                         request->review()});
  if (!created.ok()) return ToGrpc(created.status());
  *response->mutable_session() = ToProto(**created, 0, Turns::kInclude);
  return grpc::Status::OK;
}

grpc::Status SessionService::ListSessions(grpc::ServerContext* context,
                                          const pb::ListSessionsRequest*,
                                          pb::ListSessionsResponse* response) {
  const Result<uid_t> caller = CallerOf(*context);
  if (!caller.ok()) return ToGrpc(caller.status());
  for (const session::SessionPtr& record : sessions_->List()) {
    if (!IsFor(*record, *caller)) continue;
    const Result<uint64_t> last = LastSequence(*sessions_, record->id);
    *response->add_sessions() = ToProto(*record, last.ok() ? *last : 0, Turns::kLeaveOut);
  }
  return grpc::Status::OK;
}

grpc::Status SessionService::GetSession(grpc::ServerContext* context,
                                        const pb::GetSessionRequest* request,
                                        pb::GetSessionResponse* response) {
  const Status may = CheckCaller(*sessions_, request->session_id(), *context);
  if (!may.ok()) return ToGrpc(may);
  const Result<session::SessionPtr> record = sessions_->Get(request->session_id());
  if (!record.ok()) return ToGrpc(record.status());
  const Result<uint64_t> last = LastSequence(*sessions_, request->session_id());
  if (!last.ok()) return ToGrpc(last.status());
  const Turns turns = request->without_turns() ? Turns::kLeaveOut : Turns::kInclude;
  *response->mutable_session() = ToProto(**record, *last, turns);
  return grpc::Status::OK;
}

grpc::Status SessionService::DeleteSession(grpc::ServerContext* context,
                                           const pb::DeleteSessionRequest* request,
                                           pb::DeleteSessionResponse*) {
  const Status may = CheckCaller(*sessions_, request->session_id(), *context);
  if (!may.ok()) return ToGrpc(may);
  return ToGrpc(sessions_->Delete(request->session_id()));
}

grpc::Status SessionService::ForkSession(grpc::ServerContext* context,
                                         const pb::ForkSessionRequest* request,
                                         pb::ForkSessionResponse* response) {
  const Status may = CheckCaller(*sessions_, request->session_id(), *context);
  if (!may.ok()) return ToGrpc(may);
  const Result<session::SessionPtr> forked = sessions_->Fork(request->session_id());
  if (!forked.ok()) return ToGrpc(forked.status());
  const Result<uint64_t> last = LastSequence(*sessions_, (*forked)->id);
  if (!last.ok()) return ToGrpc(last.status());
  *response->mutable_session() = ToProto(**forked, *last, Turns::kInclude);
  return grpc::Status::OK;
}

grpc::Status SessionService::ListTools(grpc::ServerContext*, const pb::ListToolsRequest*,
                                       pb::ListToolsResponse* response) {
  const tools::ToolRegistry& registry = *sessions_->runtime().tools;
  for (const std::string& name : registry.Names()) {
    const model::ToolSpec spec = registry.Find(name)->Spec();
    pb::Tool& tool = *response->add_tools();
    tool.set_name(spec.name);
    tool.set_description(spec.description);
    tool.set_input_schema(spec.parameters_json);
    tool.set_output_schema(tools::OutputSchemaOf(*policy::FindTool(name)));
  }
  return grpc::Status::OK;
}

grpc::Status SessionService::SubmitTurn(grpc::ServerContext* context,
                                        const pb::SubmitTurnRequest* request,
                                        pb::SubmitTurnResponse* response) {
  Status may = CheckCaller(*sessions_, request->session_id(), *context);
  std::optional<session::Environment> env;
  if (request->has_env()) {
    env.emplace(request->env().values().begin(), request->env().values().end());
    if (may.ok()) may = CheckOwner(*sessions_, request->session_id(), *context, "env");
  }
  if (!may.ok()) return ToGrpc(may);
  const Result<session::Submitted> submitted =
      sessions_->Submit(request->session_id(), request->prompt(), env,
                        {request->deadline_ms(), request->idempotency_key()});
  if (!submitted.ok()) return ToGrpc(submitted.status());
  response->set_turn_id(submitted->turn_id);
  response->set_after_sequence(submitted->after_sequence);
  return grpc::Status::OK;
}

grpc::Status SessionService::GetTurn(grpc::ServerContext* context,
                                     const pb::GetTurnRequest* request,
                                     pb::GetTurnResponse* response) {
  const Status may = CheckCaller(*sessions_, request->session_id(), *context);
  if (!may.ok()) return ToGrpc(may);
  const Result<session::TurnRecord> turn =
      sessions_->GetTurn(request->session_id(), request->turn_id());
  if (!turn.ok()) return ToGrpc(turn.status());
  *response->mutable_turn() = ToProto(*turn);
  return grpc::Status::OK;
}

grpc::Status SessionService::CancelTurn(grpc::ServerContext* context,
                                        const pb::CancelTurnRequest* request,
                                        pb::CancelTurnResponse* response) {
  const Status may = CheckCaller(*sessions_, request->session_id(), *context);
  if (!may.ok()) return ToGrpc(may);
  const Result<bool> cancelled = sessions_->Cancel(request->session_id(), request->turn_id());
  if (!cancelled.ok()) return ToGrpc(cancelled.status());
  response->set_cancelled(*cancelled);
  return grpc::Status::OK;
}

grpc::Status SessionService::ReadFile(grpc::ServerContext* context,
                                      const pb::ReadFileRequest* request,
                                      pb::ReadFileResponse* response) {
  const Status may = CheckCaller(*sessions_, request->session_id(), *context);
  if (!may.ok()) return ToGrpc(may);
  Result<supervisor::v1::FileReadResult> read = sessions_->ReadFile(
      request->session_id(), request->path(), request->offset(), request->max_bytes());
  if (!read.ok()) return ToGrpc(read.status());
  auto* file = response->mutable_file();
  file->set_content(std::move(*read->mutable_content()));
  file->set_total_bytes(read->total_bytes());
  file->set_truncated(read->truncated());
  file->set_next_offset(read->next_offset());
  return grpc::Status::OK;
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* SessionService::Subscribe(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* bytes) {
  grpc::ByteBuffer copy = *bytes;  // shares the bytes
  pb::SubscribeRequest request;
  if (!grpc::SerializationTraits<pb::SubscribeRequest>::Deserialize(&copy, &request).ok()) {
    return new FailedReactor<grpc::ByteBuffer>(InvalidArgument("not a SubscribeRequest"));
  }
  const Status may = CheckCaller(*sessions_, request.session_id(), *context);
  if (!may.ok()) return new FailedReactor<grpc::ByteBuffer>(may);
  Result<std::shared_ptr<event::Journal>> journal = sessions_->JournalOf(request.session_id());
  if (!journal.ok()) return new FailedReactor<grpc::ByteBuffer>(journal.status());
  return FollowReactor<grpc::ByteBuffer>::Start(std::make_unique<JournalSource>(
      *std::move(journal), request.after_sequence(), request.follow()));
}

grpc::ServerBidiReactor<supervisor::v1::ExecRequest, supervisor::v1::ExecResponse>*
SessionService::SessionExec(grpc::CallbackServerContext* context) {
  return StartSessionExec(sessions_, supervisor_, context);
}

}  // namespace odyssey::service
