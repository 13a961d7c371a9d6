#include "mcp/agent/agent_scope.h"

#include <chrono>
#include <set>
#include <utility>

#include "ctl/base/sanitize.h"
#include "mcp/agent/own_tools.h"

namespace odyssey::mcp {
namespace {

namespace pb = agent::v1;

constexpr int kQuickMs = 60'000;
constexpr int kSlowMs = 30 * 60'000;  // waits for a cell, or for a turn to end
// How long a client of the stateless era has for the answer to a request for approval.
constexpr std::chrono::minutes kAnswerWithin{10};
constexpr char kApproval[] = "approval";  // the key of an input request

std::string SessionCall(const char* method) {
  return std::string("/odyssey.agent.v1.SessionService/") + method;
}
std::string ApprovalCall(const char* method) {
  return std::string("/odyssey.agent.v1.ApprovalService/") + method;
}

uint64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Status NotDirect(const pb::Session& session) {
  return FailedPrecondition("bundle " + session.bundle_ref() + ": model.provider is " +
                            session.model_provider() + "; expected " + kDirectProvider +
                            ", since the client has the model");
}

}  // namespace

AgentScope::AgentScope(AgentService* service, Caller caller)
    : service_(service),
      options_(service->options_),
      caller_(std::move(caller)),
      calls_(options_.link, caller_.token) {}

AgentScope::~AgentScope() = default;

void AgentScope::Open(std::function<void(const Status&)> on_open) {
  WithSession("", [on_open = std::move(on_open)](const Status& status, const std::string&) {
    on_open(status);
  });
}

void AgentScope::Handle(std::shared_ptr<Call> call) {
  const std::string& method = call->request().method;
  if (method == "tools/list") return ListTools(call);
  if (method == "tools/call") return CallTool(call);
  call->Fail(RpcError{RpcCode::kMethodNotFound, method + ": there is no such method"});
}

// ── sessions ──

void AgentScope::WithSession(const std::string& named, OnId on_id) {
  if (!named.empty() && named != session_id_ && known_.count(named) == 0) {
    pb::GetSessionRequest request;
    request.set_session_id(named);
    return calls_.Ask<pb::GetSessionResponse>(
        SessionCall("GetSession"), kQuickMs, request,
        [this, named, on_id = std::move(on_id)](const Status& status, const auto& answer) {
          if (!status.ok()) return on_id(status, "");
          // The call would be a prompt for that session's model.
          if (answer.session().model_provider() != kDirectProvider) {
            return on_id(NotDirect(answer.session()), "");
          }
          known_.insert(named);
          on_id(OkStatus(), named);
        });
  }
  if (!named.empty()) return on_id(OkStatus(), named);
  if (!session_id_.empty()) return on_id(OkStatus(), session_id_);
  waiting_.push_back(std::move(on_id));
  if (waiting_.size() > 1) return;
  options_.create(caller_, &calls_,
                  [weak = weak_from_this()](const Status& status, const pb::Session& session) {
                    if (const auto self = weak.lock()) self->OnCreated(status, session);
                  });
}

void AgentScope::OnCreated(const Status& created, const pb::Session& session) {
  Status status = created;
  if (status.ok() && session.model_provider() != kDirectProvider) {
    status = NotDirect(session);
    service_->Remove(caller_.token, {{session.id()}, {}});
  }
  if (status.ok()) session_id_ = session.id();
  for (const OnId& each : std::exchange(waiting_, {})) each(status, session_id_);
}

void AgentScope::Remove(AgentCalls* calls, const std::string& session_id,
                        std::function<void(const Status&)> done) {
  pb::DeleteSessionRequest request;
  request.set_session_id(session_id);
  calls->Ask<pb::DeleteSessionResponse>(
      SessionCall("DeleteSession"), kSlowMs, request,
      [done = std::move(done)](const Status& status, const auto&) { done(status); });
}

// A session that is removed cancels its turns.
void AgentScope::Close() {
  AgentService::Leftovers leftovers = {std::exchange(opened_, {}), {}};
  if (!session_id_.empty()) leftovers.sessions.insert(std::exchange(session_id_, ""));
  for (const auto& [key, turn] : std::exchange(turns_, {})) {
    calls_.Drop(turn->stream);
    if (options_.keep || leftovers.sessions.count(turn->session_id) == 0) {
      leftovers.turns.emplace(turn->session_id, turn->id);
    }
  }
  parked_.clear();
  if (options_.keep) {
    for (const std::string& id : std::exchange(leftovers.sessions, {})) options_.told(id);
  }
  service_->Remove(caller_.token, leftovers);
}

// ── tools ──

void AgentScope::ListTools(const std::shared_ptr<Call>& call) {
  WithSession("", [this, call](const Status& status, const std::string& session_id) {
    if (!status.ok()) return call->Fail(status);
    pb::ListToolsRequest request;
    request.set_session_id(session_id);
    calls_.Ask<pb::ListToolsResponse>(
        SessionCall("ListTools"), kQuickMs, request,
        [call](const Status& listed, const pb::ListToolsResponse& answer) {
          if (!listed.ok()) return call->Fail(listed);
          Json tools = Json::array();
          for (const pb::Tool& tool : answer.tools()) tools.push_back(ToolOf(tool));
          for (Json& tool : OwnTools::List()) tools.push_back(std::move(tool));
          call->Answer({{"tools", std::move(tools)}});
        });
  });
}

void AgentScope::CallTool(const std::shared_ptr<Call>& call) {
  Result<ToolRequest> tool = ReadToolRequest(call->request().params);
  if (!tool.ok()) {
    return call->Fail(RpcError{RpcCode::kInvalidParams, tool.status().message()});
  }
  if (OwnTools::Has(tool->name)) return OwnTools::Start(this, call, *std::move(tool));
  if (call->stateless() && call->request().params.contains("requestState")) {
    return Resume(call, *std::move(tool));
  }
  const auto turn = std::make_shared<Turn>();
  turn->call = call;
  turn->tool = *std::move(tool);
  turn->progress_token = MetaOf(call->request().params).value("progressToken", Json());
  WithSession(turn->tool.session, [this, turn](const Status& status, const std::string& id) {
    if (!status.ok()) return turn->call->Fail(status);
    turn->session_id = id;
    Submit(turn);
  });
}

void AgentScope::Submit(const TurnPtr& turn) {
  if (turn->call->ended()) return;
  pb::SubmitTurnRequest request;
  request.set_session_id(turn->session_id);
  request.set_prompt(DirectPrompt(turn->tool));
  calls_.Ask<pb::SubmitTurnResponse>(
      SessionCall("SubmitTurn"), kQuickMs, request,
      [this, turn](const Status& status, const pb::SubmitTurnResponse& answer) {
        if (!status.ok()) {
          // It was removed, or it failed: the next call makes another one.
          if (turn->session_id == session_id_ && status.code() == Code::kNotFound) {
            session_id_.clear();
          }
          return turn->call->Fail(status);
        }
        turn->id = answer.turn_id();
        turn->sequence = answer.after_sequence();
        Follow(turn);
      });
}

void AgentScope::Follow(const TurnPtr& turn) {
  if (turn->call->ended()) return CancelTurn(turn->session_id, turn->id);
  turns_[turn.get()] = turn;
  turn->call->OnCancel([weak = weak_from_this(), turn] {
    const auto self = weak.lock();
    if (!self || self->turns_.erase(turn.get()) == 0) return;
    self->calls_.Drop(turn->stream);
    self->CancelTurn(turn->session_id, turn->id);
  });
  pb::SubscribeRequest request;
  request.set_session_id(turn->session_id);
  request.set_after_sequence(turn->sequence);
  request.set_follow(true);
  turn->stream = calls_.Open(
      SessionCall("Subscribe"), 0, request, std::make_unique<pb::Event>(),
      [this, turn](const auto& part) { OnEvent(turn, static_cast<const pb::Event&>(part)); },
      [this, turn](const Status& status) {
        turns_.erase(turn.get());
        turn->call->Fail(status.ok() ? Unavailable("the session's events ended") : status);
      });
}

void AgentScope::CancelTurn(const std::string& session_id, const std::string& turn_id) {
  CancelTurn(&calls_, session_id, turn_id, [](const Status&) {});
}

void AgentScope::CancelTurn(AgentCalls* calls, const std::string& session_id,
                            const std::string& turn_id, std::function<void(const Status&)> done) {
  pb::CancelTurnRequest request;
  request.set_session_id(session_id);
  request.set_turn_id(turn_id);
  calls->Ask<pb::CancelTurnResponse>(
      SessionCall("CancelTurn"), kSlowMs, request,
      [done = std::move(done)](const Status& status, const auto&) { done(status); });
}

// ── events ──

void AgentScope::OnEvent(const TurnPtr& turn, const pb::Event& event) {
  turn->sequence = event.sequence();
  const auto is_ours = [&](const auto& part) { return part.turn_id() == turn->id; };
  if (event.has_permission_requested() && is_ours(event.permission_requested())) {
    OnPermission(turn, event.permission_requested());
  } else if (event.has_exec_command_output_delta() && is_ours(event.exec_command_output_delta())) {
    OnOutput(turn, event.exec_command_output_delta());
  } else if (event.has_tool_call_finished() && is_ours(event.tool_call_finished())) {
    turn->result = ResultOf(event.tool_call_finished());
  } else if (event.has_turn_completed() && is_ours(event.turn_completed())) {
    End(turn, Failure("the call gave no result"));
  } else if (event.has_turn_failed() && is_ours(event.turn_failed())) {
    End(turn, Failure(event.turn_failed().message()));
  } else if (event.has_turn_cancelled() && is_ours(event.turn_cancelled())) {
    End(turn, Failure("the call was cancelled"));
  }
}

void AgentScope::OnOutput(const TurnPtr& turn, const pb::ExecCommandOutputDelta& delta) {
  if (turn->progress_token.is_null()) return;
  turn->call->Notify("notifications/progress",
                     {{"progressToken", turn->progress_token},
                      {"progress", ++turn->progress},
                      {"message", ctl::Sanitize(delta.delta())}},
                     Delivery::kIfTaken);
}

void AgentScope::End(const TurnPtr& turn, Json otherwise) {
  turns_.erase(turn.get());
  calls_.Drop(turn->stream);
  turn->call->Answer(turn->result ? *std::move(turn->result) : std::move(otherwise));
}

// ── approvals ──

void AgentScope::OnPermission(const TurnPtr& turn, const pb::PermissionRequested& request) {
  if (const auto answer = options_.decide(request, turn->call->Has("elicitation"))) {
    return Resolve(turn, *answer);
  }
  if (turn->call->stateless()) return Park(turn, request);
  turn->call->Ask("elicitation/create", ElicitationOf(request),
                  [this, turn, request](const RpcResponse& response) {
                    Resolve(turn, AnswerOf(request, response.error ? Json() : response.result));
                  });
}

// If it was answered already, by another client or by time, the turn goes on by that answer.
void AgentScope::Resolve(const TurnPtr& turn, const pb::ResolveApprovalRequest& answer) {
  calls_.Ask<pb::ResolveApprovalResponse>(ApprovalCall("ResolveApproval"), kQuickMs, answer,
                                          [this, turn](const Status& status, const auto&) {
                                            if (status.ok() || turns_.erase(turn.get()) == 0)
                                              return;
                                            calls_.Drop(turn->stream);
                                            CancelTurn(turn->session_id, turn->id);
                                            turn->call->Fail(status);
                                          });
}

std::string AgentScope::PurposeOf(const ToolRequest& tool) const {
  return Json{caller_.token,  caller_.bundle, caller_.cwd,
              caller_.review, tool.session,   DirectPrompt(tool)}
      .dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

void AgentScope::Park(const TurnPtr& turn, const pb::PermissionRequested& request) {
  const std::string session_id = turn->session_id, turn_id = turn->id;
  auto timer = std::make_unique<boost::asio::steady_timer>(*options_.loop);
  timer->expires_after(kAnswerWithin);
  timer->async_wait([weak = weak_from_this(), session_id, turn_id](boost::system::error_code e) {
    const auto self = weak.lock();
    if (!e && self && self->parked_.erase(turn_id) != 0) self->CancelTurn(session_id, turn_id);
  });
  parked_[turn_id] = std::move(timer);
  // The digest is agentd's, over the tool, its arguments, the directory and what is granted; the
  // session pins the bundle, and so its policy and environment.
  const Json content = {{"session", session_id},      {"turn", turn_id},
                        {"after", turn->sequence},    {"request", request.request_id()},
                        {"digest", request.digest()}, {"grants", request.has_grants()},
                        {"scope", request.scope()}};
  const std::string state = states().Seal(
      PurposeOf(turn->tool), content, NowMs() + std::chrono::milliseconds(kAnswerWithin).count());
  turns_.erase(turn.get());
  calls_.Drop(turn->stream);
  turn->call->Answer(InputRequired(
      {{kApproval, {{"method", "elicitation/create"}, {"params", ElicitationOf(request)}}}},
      state));
}

void AgentScope::Resume(const std::shared_ptr<Call>& call, ToolRequest tool) {
  const Json& params = call->request().params;
  const auto state = params.find("requestState");
  const Json responses = params.value("inputResponses", Json::object());
  if (!state->is_string() || !responses.is_object()) {
    return call->Fail(RpcError{RpcCode::kInvalidParams,
                               "requestState, inputResponses: expected a string and an object"});
  }
  const auto text = state->get<std::string>();
  const Result<Json> content = states().Open(PurposeOf(tool), text, NowMs());
  if (!content.ok()) return call->Fail(content.status());
  const auto turn = std::make_shared<Turn>();
  turn->call = call;
  turn->tool = std::move(tool);
  turn->session_id = content->at("session").get<std::string>();
  turn->id = content->at("turn").get<std::string>();
  turn->sequence = content->at("after").get<uint64_t>();
  turn->progress_token = MetaOf(params).value("progressToken", Json());
  const auto request_id = content->at("request").get<std::string>();
  const auto response = responses.find(kApproval);
  if (response == responses.end()) return AskAgain(turn, request_id);
  if (!response->is_object()) {
    return call->Fail(
        RpcError{RpcCode::kInvalidParams, "inputResponses: approval: expected an object"});
  }
  states().Spend(text);
  parked_.erase(turn->id);
  pb::PermissionRequested request;
  request.set_request_id(request_id);
  request.set_digest(content->at("digest").get<std::string>());
  request.set_scope(content->at("scope").get<std::string>());
  if (content->at("grants").get<bool>()) request.mutable_grants();
  Follow(turn);
  Resolve(turn, AnswerOf(request, *response));
}

void AgentScope::AskAgain(const TurnPtr& turn, const std::string& request_id) {
  pb::ListApprovalsRequest list;
  list.set_session_id(turn->session_id);
  calls_.Ask<pb::ListApprovalsResponse>(
      ApprovalCall("ListApprovals"), kQuickMs, list,
      [this, turn, request_id](const Status& status, const pb::ListApprovalsResponse& answer) {
        if (!status.ok()) return turn->call->Fail(status);
        for (const pb::Approval& each : answer.approvals()) {
          if (each.request().request_id() == request_id) return Park(turn, each.request());
        }
        // It was answered elsewhere: the call's result is on its way.
        Follow(turn);
      });
}

}  // namespace odyssey::mcp
