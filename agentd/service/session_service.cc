#include "agentd/service/session_service.h"

#include <algorithm>
#include <utility>

#include "agentd/mcp_client/call_result.h"
#include "agentd/service/convert.h"
#include "agentd/service/follow_reactor.h"
#include "agentd/service/session_access.h"
#include "agentd/service/session_exec.h"
#include "agentd/service/version.h"
#include "agentd/session/approval_timeout.h"
#include "agentd/session_file/session_file.h"
#include "agentd/tool/arguments.h"
#include "common/base/refusal.h"
#include "common/base/utf8.h"
#include "common/message/message_utf8.h"
#include "common/rpc/status_map.h"
#include "policy/convert/sandbox_proto.h"

namespace odyssey::service {
namespace {

using rpc::ToGrpc;

constexpr size_t kEventBatch = 64;
constexpr size_t kFileChunkBytes = 256 * 1024;
// Of a turn's history, from which on the rest comes in another part.
constexpr size_t kTurnPartBytes = 1024 * 1024;

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
  JournalSource(std::shared_ptr<event::Journal> journal, const pb::SubscribeRequest& request)
      : follower_(std::move(journal), request.after_sequence()),
        session_id_(request.session_id()),
        follow_(request.follow()) {}

  Result<std::vector<grpc::ByteBuffer>> Next() override {
    ODY_ASSIGN_OR_RETURN(const std::vector<event::Encoded> events, follower_.Next(kEventBatch));
    std::vector<grpc::ByteBuffer> out;
    for (const event::Encoded& event : events) out.push_back(ToBuffer(event));
    // A follower would wait for what is not written, such as the end of a turn on a full disk.
    if (events.empty() && follow_) ODY_RETURN_IF_ERROR(follower_.journal().failure());
    if (events.empty() && follower_.journal().closed()) {
      return AboutField("session_id",
                        NotFound("session_id \"" + session_id_ + "\": the session was removed"));
    }
    return out;
  }
  bool NotifyWhenMore(std::function<void()> ready) override {
    return follower_.journal().NotifyAfter(follower_.position(), std::move(ready));
  }
  bool ended() const override {
    return !follow_ && follower_.journal().last_sequence() <= follower_.position();
  }

 private:
  event::Follower follower_;
  const std::string session_id_;
  const bool follow_;
};

Result<uint64_t> LastSequence(const session::Sessions& sessions, const std::string& session_id) {
  ODY_ASSIGN_OR_RETURN(const auto journal, sessions.JournalOf(session_id));
  return journal->last_sequence();
}

// Where a page of sessions ends, which are in the falling order of these.
std::string TokenOf(const std::string& created_at, const std::string& id) {
  return created_at + " " + id;
}

bool IsPageToken(const std::string& token) {
  const size_t space = token.find(' ');
  return space != std::string::npos && token.compare(space + 1, 4, "ses_") == 0;
}

// With the time that its approvals wait by now.
pb::Session Shown(const session::Sessions& sessions, const session::SessionRecord& record,
                  uint64_t last_sequence) {
  pb::Session out = ToProto(record, last_sequence);
  const auto timeout =
      session::ApprovalTimeout(record.approval_timeout_ms, sessions.runtime().approval_timeout);
  out.set_approval_timeout_ms(static_cast<uint64_t>(timeout.count()));
  for (const session::SessionGrant& grant : sessions.GrantsOf(record.id)) {
    *out.add_grants() = ToProto(grant);
  }
  return out;
}

// CANCELLED: the client has gone.
grpc::Status SendTurn(const session::TurnRecord& turn,
                      grpc::ServerWriter<pb::ListTurnsResponse>* writer) {
  pb::ListTurnsResponse part;
  *part.mutable_turn() = ToProto(turn);
  size_t bytes = 0;
  for (const model::Message& message : turn.history) {
    pb::ChatMessage next = ToProto(message);
    const size_t more = next.ByteSizeLong();
    if (bytes != 0 && bytes + more > kTurnPartBytes) {
      if (!writer->Write(part)) return grpc::Status::CANCELLED;
      part.Clear();
      part.mutable_turn()->set_id(turn.id);
      bytes = 0;
    }
    *part.mutable_turn()->add_chat_history() = std::move(next);
    bytes += more;
  }
  return writer->Write(part) ? grpc::Status::OK : grpc::Status::CANCELLED;
}

}  // namespace

SessionService::SessionService(session::Sessions* sessions,
                               std::shared_ptr<grpc::Channel> supervisor)
    : sessions_(sessions),
      prepared_(sessions->runtime().clock, sessions->runtime().ids),
      supervisor_(supervisor::v1::Supervisor::NewStub(supervisor)) {}

grpc::Status SessionService::GetInfo(grpc::ServerContext* context, const pb::GetInfoRequest*,
                                     pb::GetInfoResponse* response) {
  const session::Runtime& runtime = sessions_->runtime();
  const Result<uid_t> caller = CallerOf(runtime, *context);
  if (!caller.ok()) return ToGrpc(caller.status());
  const Result<sandbox::SupervisorInfo> supervisor = runtime.sandbox->GetInfo();
  response->set_version(kVersion);
  response->set_supervisor_reachable(supervisor.ok());
  if (supervisor.ok()) response->set_supervisor_version(supervisor->version);
  response->set_sessions(static_cast<uint32_t>(runtime.store->size()));
  response->set_running_turns(static_cast<uint32_t>(sessions_->running_turns()));
  response->set_pending_approvals(static_cast<uint32_t>(runtime.approvals->size()));
  response->set_draining(sessions_->draining());
  for (const auto& paths : {runtime.store->quarantined(), runtime.journals->quarantined(),
                            runtime.bundles->damaged()}) {
    for (const std::string& path : paths) response->add_quarantined(path);
  }
  return grpc::Status::OK;
}

grpc::Status SessionService::CreateSession(grpc::ServerContext* context,
                                           const pb::CreateSessionRequest* request,
                                           pb::CreateSessionResponse* response) {
  const Result<uid_t> owner = CallerOf(sessions_->runtime(), *context);
  if (!owner.ok()) return ToGrpc(owner.status());
  const Result<session::SessionPtr> created =
      sessions_->Create({request->bundle(),
                         request->cwd(),
                         {request->env().begin(), request->env().end()},
                         request->agent_id(),
                         *owner,
                         request->allow_danger(),
                         request->review(),
                         request->approval_timeout_ms(),
                         FromProto(request->budget())});
  if (!created.ok()) return ToGrpc(created.status());
  *response->mutable_session() = Shown(*sessions_, **created, 0);
  return grpc::Status::OK;
}

grpc::Status SessionService::ListSessions(grpc::ServerContext* context,
                                          const pb::ListSessionsRequest* request,
                                          pb::ListSessionsResponse* response) {
  const Result<Peer> peer = PeerOf(*sessions_, *context, "ListSessions");
  if (!peer.ok()) return ToGrpc(peer.status());
  const std::string& after = request->page_token();
  if (!after.empty() && !IsPageToken(after)) {
    return ToGrpc(AboutField("page_token", InvalidArgument("page_token \"" + SanitizeUtf8(after) +
                                                           "\": ListSessions gave no such token")));
  }
  const auto limit = static_cast<int>(std::min<uint32_t>(request->page_size(), INT32_MAX));
  for (const session::SessionPtr& record : sessions_->List()) {
    if (!IsFor(*record, *peer)) continue;
    if (!after.empty() && TokenOf(record->created_at, record->id) >= after) continue;
    if (limit != 0 && response->sessions_size() == limit) {
      const pb::Session& last = response->sessions(limit - 1);
      response->set_next_page_token(TokenOf(last.created_at(), last.id()));
      break;
    }
    const Result<uint64_t> last = LastSequence(*sessions_, record->id);
    *response->add_sessions() = Shown(*sessions_, *record, last.ok() ? *last : 0);
  }
  return grpc::Status::OK;
}

grpc::Status SessionService::GetSession(grpc::ServerContext* context,
                                        const pb::GetSessionRequest* request,
                                        pb::GetSessionResponse* response) {
  const Status may = CheckCallerOrAdmin(*sessions_, request->session_id(), *context, "GetSession");
  if (!may.ok()) return ToGrpc(may);
  const Result<session::SessionPtr> record =
      sessions_->runtime().store->GetWithoutTurns(request->session_id());
  if (!record.ok()) return ToGrpc(record.status());
  const Result<uint64_t> last = LastSequence(*sessions_, request->session_id());
  if (!last.ok()) return ToGrpc(last.status());
  *response->mutable_session() = Shown(*sessions_, **record, *last);
  return grpc::Status::OK;
}

grpc::Status SessionService::DeleteSession(grpc::ServerContext* context,
                                           const pb::DeleteSessionRequest* request,
                                           pb::DeleteSessionResponse*) {
  const Status may =
      CheckCallerOrAdmin(*sessions_, request->session_id(), *context, "DeleteSession");
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
  *response->mutable_session() = Shown(*sessions_, **forked, *last);
  return grpc::Status::OK;
}

grpc::Status SessionService::ListTools(grpc::ServerContext* context,
                                       const pb::ListToolsRequest* request,
                                       pb::ListToolsResponse* response) {
  const Result<uid_t> caller = CallerOf(sessions_->runtime(), *context);
  if (!caller.ok()) return ToGrpc(caller.status());
  const tools::ToolRegistry& registry = *sessions_->runtime().tools;
  std::vector<model::ToolSpec> specs;
  if (!request->session_id().empty()) {
    const Status may = CheckCaller(*sessions_, request->session_id(), *context);
    if (!may.ok()) return ToGrpc(may);
    Result<std::vector<model::ToolSpec>> offered = sessions_->OfferedTools(request->session_id());
    if (!offered.ok()) return ToGrpc(offered.status());
    specs = *std::move(offered);
  } else {
    for (const std::string& name : registry.Names()) specs.push_back(registry.Find(name)->Spec());
  }
  for (const model::ToolSpec& spec : specs) {
    pb::Tool& tool = *response->add_tools();
    tool.set_name(spec.name);
    tool.set_description(spec.description);
    tool.set_input_schema(spec.parameters_json);
    const policy::ToolRow* row = policy::FindTool(spec.name);
    tool.set_output_schema(row != nullptr ? tools::OutputSchemaOf(*row)
                                          : std::string(mcp_client::kOutputSchema));
    message::SanitizeStrings(&tool);
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
  const Status may = CheckCallerOrAdmin(*sessions_, request->session_id(), *context, "GetTurn");
  if (!may.ok()) return ToGrpc(may);
  const Result<session::TurnRecord> turn =
      sessions_->GetTurn(request->session_id(), request->turn_id());
  if (!turn.ok()) return ToGrpc(turn.status());
  *response->mutable_turn() = ToProto(*turn);
  return grpc::Status::OK;
}

grpc::Status SessionService::ListTurns(grpc::ServerContext* context,
                                       const pb::ListTurnsRequest* request,
                                       grpc::ServerWriter<pb::ListTurnsResponse>* writer) {
  const std::string& id = request->session_id();
  const Status may = CheckCallerOrAdmin(*sessions_, id, *context, "ListTurns");
  if (!may.ok()) return ToGrpc(may);
  if (!request->turn_id().empty()) {
    const Result<session::TurnRecord> turn = sessions_->GetTurn(id, request->turn_id());
    return turn.ok() ? SendTurn(*turn, writer) : ToGrpc(turn.status());
  }
  const Result<session::SessionPtr> record = sessions_->Get(id);
  if (!record.ok()) return ToGrpc(record.status());
  for (const session::TurnRecord& turn : (*record)->turns) {
    const grpc::Status sent = SendTurn(turn, writer);
    if (!sent.ok()) return sent;
  }
  return grpc::Status::OK;
}

grpc::Status SessionService::CancelTurn(grpc::ServerContext* context,
                                        const pb::CancelTurnRequest* request,
                                        pb::CancelTurnResponse* response) {
  const Status may = CheckCallerOrAdmin(*sessions_, request->session_id(), *context, "CancelTurn");
  if (!may.ok()) return ToGrpc(may);
  const Result<bool> cancelled = sessions_->Cancel(request->session_id(), request->turn_id());
  if (!cancelled.ok()) return ToGrpc(cancelled.status());
  response->set_cancelled(*cancelled);
  return grpc::Status::OK;
}

grpc::Status SessionService::RevokeGrant(grpc::ServerContext* context,
                                         const pb::RevokeGrantRequest* request,
                                         pb::RevokeGrantResponse*) {
  const Status may = CheckCallerOrAdmin(*sessions_, request->session_id(), *context, "RevokeGrant");
  if (!may.ok()) return ToGrpc(may);
  const Result<uid_t> caller = CallerOf(sessions_->runtime(), *context);
  if (!caller.ok()) return ToGrpc(caller.status());
  return ToGrpc(sessions_->RevokeGrant(request->session_id(), request->grant_id(), *caller));
}

grpc::Status SessionService::ReadFile(grpc::ServerContext* context,
                                      const pb::ReadFileRequest* request,
                                      pb::ReadFileResponse* response) {
  const Status may = CheckCallerOrAdmin(*sessions_, request->session_id(), *context, "ReadFile");
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

grpc::Status SessionService::PrepareSessionExec(grpc::ServerContext* context,
                                                const pb::PrepareSessionExecRequest* request,
                                                pb::PrepareSessionExecResponse* response) {
  const auto prepare = [&]() -> Result<std::string> {
    const std::string& id = request->session_id();
    ODY_RETURN_IF_ERROR(CheckCallerOrAdmin(*sessions_, id, *context, "PrepareSessionExec"));
    PreparedExec prepared = {id, {}};
    ODY_ASSIGN_OR_RETURN(prepared.policy.owner_uid, CallerOf(sessions_->runtime(), *context));
    ODY_RETURN_IF_ERROR(policy::FromProto(request->policy(), &prepared.policy.request));
    ODY_RETURN_IF_ERROR(sessions_->CheckOperatorPolicy(id, prepared.policy));
    return prepared_.Add(std::move(prepared));
  };
  const Result<std::string> id = prepare();
  if (!id.ok()) return ToGrpc(id.status());
  response->set_cell_id(*id);
  return grpc::Status::OK;
}

grpc::Status SessionService::GetQuota(grpc::ServerContext* context,
                                      const pb::GetQuotaRequest* request,
                                      pb::GetQuotaResponse* response) {
  const Result<Peer> peer = PeerOf(*sessions_, *context, "GetQuota");
  if (!peer.ok()) return ToGrpc(peer.status());
  const uid_t uid = request->has_uid() ? request->uid() : peer->uid;
  if (uid != peer->uid && peer->uid != 0 && !peer->is_admin) {
    return ToGrpc(Refused(Code::kPermissionDenied, "uid", std::to_string(uid),
                          "another user's quota is for root and the admin group"));
  }
  Result<pb::GetQuotaResponse> quota = sessions_->GetQuota(uid);
  if (!quota.ok()) return ToGrpc(quota.status());
  *response = *std::move(quota);
  return grpc::Status::OK;
}

grpc::Status SessionService::ListJobs(grpc::ServerContext* context,
                                      const pb::ListJobsRequest* request,
                                      pb::ListJobsResponse* response) {
  const Status may = CheckCallerOrAdmin(*sessions_, request->session_id(), *context, "ListJobs");
  if (!may.ok()) return ToGrpc(may);
  const Result<std::vector<pb::Job>> jobs = sessions_->ListJobs(request->session_id());
  if (!jobs.ok()) return ToGrpc(jobs.status());
  response->mutable_jobs()->Assign(jobs->begin(), jobs->end());
  return grpc::Status::OK;
}

grpc::Status SessionService::StopJob(grpc::ServerContext* context,
                                     const pb::StopJobRequest* request,
                                     pb::StopJobResponse* response) {
  const Status may = CheckCallerOrAdmin(*sessions_, request->session_id(), *context, "StopJob");
  if (!may.ok()) return ToGrpc(may);
  Result<pb::Job> stopped = sessions_->StopJob(request->session_id(), request->job_id());
  if (!stopped.ok()) return ToGrpc(stopped.status());
  *response->mutable_job() = *std::move(stopped);
  return grpc::Status::OK;
}

grpc::Status SessionService::ExportSession(grpc::ServerContext* context,
                                           const pb::ExportSessionRequest* request,
                                           grpc::ServerWriter<pb::ExportSessionResponse>* writer) {
  const Status may =
      CheckCallerOrAdmin(*sessions_, request->session_id(), *context, "ExportSession");
  if (!may.ok()) return ToGrpc(may);
  const Result<session_file::SessionFile> file = sessions_->Export(request->session_id());
  if (!file.ok()) return ToGrpc(file.status());
  const std::string text = session_file::EncodeSessionFile(*file);
  for (size_t sent = 0; sent < text.size(); sent += kFileChunkBytes) {
    pb::ExportSessionResponse part;
    part.set_data(text.substr(sent, kFileChunkBytes));
    if (!writer->Write(part)) return grpc::Status::CANCELLED;
  }
  return grpc::Status::OK;
}

grpc::Status SessionService::ImportSession(grpc::ServerContext* context,
                                           grpc::ServerReader<pb::ImportSessionRequest>* reader,
                                           pb::ImportSessionResponse* response) {
  const Result<uid_t> owner = CallerOf(sessions_->runtime(), *context);
  if (!owner.ok()) return ToGrpc(owner.status());
  session::NewSession spec;
  spec.owner_uid = *owner;
  std::string text;
  bool first = true;
  for (pb::ImportSessionRequest part; reader->Read(&part); first = false) {
    if (first) spec.bundle = part.bundle();
    if (first) spec.cwd = part.cwd();
    text += part.data();
    if (text.size() > session_file::kMaxFileBytes) break;  // refused below
  }
  if (context->IsCancelled()) return grpc::Status::CANCELLED;
  const Result<session_file::SessionFile> file = session_file::DecodeSessionFile(text);
  if (!file.ok()) return ToGrpc(file.status());
  const Result<session::SessionPtr> imported = sessions_->Import(std::move(spec), *file);
  if (!imported.ok()) return ToGrpc(imported.status());
  *response->mutable_session() = Shown(*sessions_, **imported, 0);
  return grpc::Status::OK;
}

grpc::Status SessionService::CompactSession(grpc::ServerContext* context,
                                            const pb::CompactSessionRequest* request,
                                            pb::CompactSessionResponse* response) {
  const Status may =
      CheckCallerOrAdmin(*sessions_, request->session_id(), *context, "CompactSession");
  if (!may.ok()) return ToGrpc(may);
  const Result<session::Compacted> done =
      sessions_->Compact(request->session_id(), request->keep_turns());
  if (!done.ok()) return ToGrpc(done.status());
  response->set_removed_events(done->events);
  response->set_freed_bytes(done->bytes);
  return grpc::Status::OK;
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* SessionService::Subscribe(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* bytes) {
  grpc::ByteBuffer copy = *bytes;  // shares the bytes
  pb::SubscribeRequest request;
  if (!grpc::SerializationTraits<pb::SubscribeRequest>::Deserialize(&copy, &request).ok()) {
    return new FailedReactor<grpc::ByteBuffer>(InvalidArgument("not a SubscribeRequest"));
  }
  const Status may = CheckCallerOrAdmin(*sessions_, request.session_id(), *context, "Subscribe");
  if (!may.ok()) return new FailedReactor<grpc::ByteBuffer>(may);
  Result<std::shared_ptr<event::Journal>> journal = sessions_->JournalOf(request.session_id());
  if (!journal.ok()) return new FailedReactor<grpc::ByteBuffer>(journal.status());
  const Result<Caller> caller = CallerWithToken(sessions_->runtime(), *context);
  if (!caller.ok()) return new FailedReactor<grpc::ByteBuffer>(caller.status());
  return FollowReactor<grpc::ByteBuffer>::Start(
      std::make_unique<JournalSource>(*std::move(journal), request),
      EndOf(sessions_->runtime(), caller->token_id));
}

grpc::ServerBidiReactor<supervisor::v1::ExecRequest, supervisor::v1::ExecResponse>*
SessionService::SessionExec(grpc::CallbackServerContext* context) {
  return StartSessionExec(sessions_, &prepared_, supervisor_, context);
}

}  // namespace odyssey::service
