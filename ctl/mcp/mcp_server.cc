#include "ctl/mcp/mcp_server.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include <utility>

#include "ctl/approval/approval_call.h"
#include "ctl/base/sanitize.h"
#include "ctl/base/signal_fd.h"
#include "ctl/client/client.h"
#include "ctl/mcp/mcp_tools.h"
#include "ctl/session/session_calls.h"
#include "odyssey/agent/v1/session.stub.h"

namespace odyssey::ctl {

using agent::v1::SessionServiceStub;

namespace {

constexpr char kProvider[] = "direct";

}  // namespace

McpServer::McpServer(const Console& console, const Locations& locations, McpOptions options,
                     int signal_fd)
    : console_(console),
      locations_(locations),
      options_(std::move(options)),
      signal_fd_(signal_fd),
      peer_(console) {}

void McpServer::Run() {
  const RpcHandlers handlers = {
      .on_request = [this](const RpcRequest& request) { return Dispatch(request); },
      .on_notification = [this](const RpcNotification& each) { OnNotification(each); },
      .on_response = [this](const RpcResponse& response) { OnResponse(response); }};
  for (bool open = true; open;) {
    pollfd polled[] = {{STDIN_FILENO, POLLIN, 0},
                       {signal_fd_, POLLIN, 0},
                       {feed_ == nullptr ? -1 : feed_->fd(), POLLIN, 0}};
    if (poll(polled, 3, -1) < 0 && errno != EINTR) break;
    if (polled[1].revents != 0 && TakeSignal(signal_fd_) != 0) break;
    if (polled[2].revents != 0) OnItem();
    if (polled[0].revents != 0) open = peer_.Read();
    peer_.Deliver(handlers);
  }
  for (auto& [turn_id, call] : calls_) Cancel(turn_id, &call);
  for (auto& [turn_id, call] : calls_) call.canceller->Wait();
  CloseSession();
}

std::optional<RpcAnswer> McpServer::Dispatch(const RpcRequest& request) {
  const std::string& method = request.method;
  if (method == "ping") return Json::object();
  if (method == "initialize") return Initialize(request.params);
  if (!initialized_) {
    return RpcError{RpcCode::kInvalidRequest, method + ": the first request is initialize"};
  }
  if (method == "tools/list") return ListTools();
  if (method == "tools/call") return CallTool(request);
  return RpcError{RpcCode::kMethodNotFound, method + ": there is no such method"};
}

void McpServer::OnNotification(const RpcNotification& notification) {
  if (notification.method != "notifications/cancelled") return;
  const Json id = notification.params.value("requestId", Json());
  for (auto& [turn_id, call] : calls_) {
    if (call.request_id != id) continue;
    call.cancelled = true;
    Cancel(turn_id, &call);
  }
}

void McpServer::OnResponse(const RpcResponse& response) {
  if (!response.id.is_string()) return;
  const auto asked = asked_.find(response.id.get<std::string>());
  if (asked == asked_.end()) return;
  const agent::v1::PermissionRequested request = std::move(asked->second);
  asked_.erase(asked);
  const AnswerSent sent = SendAnswer(locations_, request, ElicitedAnswer(request, response));
  if (sent.failure) console_.Fail(*sent.failure);
}

RpcAnswer McpServer::Initialize(const Json& params) {
  const auto version = params.find("protocolVersion");
  if (version == params.end() || !version->is_string()) {
    return RpcError{RpcCode::kInvalidParams, "protocolVersion: expected a string"};
  }
  const Json capabilities = params.value("capabilities", Json());
  elicits_ = capabilities.is_object() && capabilities.contains("elicitation");
  initialized_ = true;
  return Json{
      {"protocolVersion", ChooseMcpVersion(version->get<std::string>())},
      {"capabilities", {{"tools", Json::object()}}},
      {"serverInfo", {{"name", "odyssey"}, {"title", "Odyssey"}, {"version", ODYSSEY_VERSION}}},
      {"instructions",
       "These tools work in a sandbox. Its directory is /workspace; directories of the host are "
       "below /workspace/mount. A result with `denials` says what the sandbox refused."}};
}

std::optional<RpcError> McpServer::OpenSession() {
  if (!session_id_.empty()) return std::nullopt;
  const Result<Client> client = Client::Connect(Daemon::kAgentd, locations_);
  if (!client.ok()) return ErrorOf(ExplainConnect("create a session", client.status()));
  const SessionServiceStub stub(client->channel());
  const Made<agent::v1::Session> made =
      TryCreateSession(console_, *client, stub,
                       {.bundle = options_.bundle, .cwd = options_.cwd, .review = options_.review});
  if (const auto* failure = std::get_if<Failure>(&made)) return ErrorOf(*failure);
  const auto& session = std::get<agent::v1::Session>(made);
  session_id_ = session.id();
  if (session.model_provider() != kProvider) {
    CloseSession();
    return RpcError{RpcCode::kInternalError, "bundle " + options_.bundle + ": model.provider is " +
                                                 session.model_provider() + "; expected " +
                                                 kProvider + ", since the client has the model"};
  }
  feed_ = std::make_unique<EventFeed>(locations_, session_id_, session.last_sequence(),
                                      /*follow=*/true);
  return std::nullopt;
}

RpcAnswer McpServer::ListTools() {
  if (const std::optional<RpcError> error = OpenSession()) return *error;
  const Result<Client> client = Client::Connect(Daemon::kAgentd, locations_);
  if (!client.ok()) return ErrorOf(ExplainConnect("list the tools", client.status()));
  agent::v1::ListToolsRequest request;
  request.set_session_id(session_id_);
  agent::v1::ListToolsResponse response;
  const Status status =
      SessionServiceStub(client->channel()).ListTools({kQuickCallMs}, request, &response);
  if (!status.ok()) return ErrorOf(client->Explain("list the tools", status));
  Json tools = Json::array();
  for (const agent::v1::Tool& tool : response.tools()) tools.push_back(McpTool(tool));
  return Json{{"tools", std::move(tools)}};
}

std::optional<RpcAnswer> McpServer::CallTool(const RpcRequest& request) {
  const Result<std::string> prompt = DirectPrompt(request.params);
  if (!prompt.ok()) return RpcError{RpcCode::kInvalidParams, prompt.status().message()};
  if (const std::optional<RpcError> error = OpenSession()) return *error;
  const Result<Client> client = Client::Connect(Daemon::kAgentd, locations_);
  if (!client.ok()) return ErrorOf(ExplainConnect("call the tool", client.status()));
  const Made<agent::v1::SubmitTurnResponse> made =
      TrySubmitTurn(*client, SessionServiceStub(client->channel()), session_id_, *prompt, {});
  if (const auto* failure = std::get_if<Failure>(&made)) return ErrorOf(*failure);
  Call& call = calls_[std::get<agent::v1::SubmitTurnResponse>(made).turn_id()];
  call.request_id = request.id;
  const Json meta = request.params.value("_meta", Json());
  if (meta.is_object()) call.progress_token = meta.value("progressToken", Json());
  return std::nullopt;
}

void McpServer::OnItem() {
  const EventFeed::Item item = feed_->Take();
  if (!item.notice.empty()) console_.Warn("odyssey-ctl: " + item.notice);
  if (item.event) return OnEvent(*item.event);
  if (!item.ended) return;
  // What runs cannot be followed; the next call makes another session.
  const Failure lost = item.failure.value_or(Failure{"follow the call", "the events ended", ""});
  for (auto& [turn_id, call] : calls_) peer_.Answer(call.request_id, ErrorOf(lost));
  calls_.clear();
  asked_.clear();
  feed_.reset();
  session_id_.clear();
}

void McpServer::OnEvent(const agent::v1::Event& event) {
  if (event.has_permission_requested()) return OnPermission(event.permission_requested());
  if (event.has_exec_command_output_delta()) return OnOutput(event.exec_command_output_delta());
  if (event.has_approval_resolved()) {
    std::erase_if(asked_, [&](const auto& asked) {
      return asked.second.request_id() == event.approval_resolved().request_id();
    });
  } else if (event.has_tool_call_finished()) {
    const auto call = calls_.find(event.tool_call_finished().turn_id());
    if (call != calls_.end()) call->second.result = McpResult(event.tool_call_finished());
  } else if (event.has_turn_completed()) {
    End(event.turn_completed().turn_id(), McpFailure("the call gave no result"));
  } else if (event.has_turn_failed()) {
    End(event.turn_failed().turn_id(), McpFailure(event.turn_failed().message()));
  } else if (event.has_turn_cancelled()) {
    End(event.turn_cancelled().turn_id(), McpFailure("the call was cancelled"));
  }
}

void McpServer::OnOutput(const agent::v1::ExecCommandOutputDelta& delta) {
  const auto call = calls_.find(delta.turn_id());
  if (call == calls_.end() || call->second.progress_token.is_null()) return;
  peer_.Notify("notifications/progress", {{"progressToken", call->second.progress_token},
                                          {"progress", ++call->second.progress},
                                          {"message", Sanitize(delta.delta())}});
}

void McpServer::OnPermission(const agent::v1::PermissionRequested& request) {
  const std::optional<AutomaticAnswer> answer =
      AnswerWithoutAsking(options_.approve, elicits_, request);
  if (!answer) {
    asked_[peer_.Ask("elicitation/create", ElicitationOf(request))] = request;
    return;
  }
  const AnswerSent sent = SendAnswer(locations_, request, answer->answer);
  if (sent.failure) console_.Fail(*sent.failure);
}

void McpServer::End(const std::string& turn_id, const Json& otherwise) {
  const auto found = calls_.find(turn_id);
  if (found == calls_.end()) return;
  const Call& call = found->second;
  if (!call.cancelled) peer_.Answer(call.request_id, call.result.value_or(otherwise));
  calls_.erase(found);
}

void McpServer::Cancel(const std::string& turn_id, Call* call) {
  if (call->canceller != nullptr) return;
  call->canceller = std::make_unique<TurnCanceller>(console_, locations_, session_id_, turn_id);
}

void McpServer::CloseSession() {
  const std::string id = std::exchange(session_id_, "");
  feed_.reset();
  if (id.empty()) return;
  if (options_.keep || options_.review) {
    return console_.Warn("odyssey-ctl: session " + Sanitize(id, Lines::kOne) + " is kept");
  }
  const Result<Client> client = Client::Connect(Daemon::kAgentd, locations_);
  if (!client.ok()) return;
  agent::v1::DeleteSessionRequest request;
  request.set_session_id(id);
  agent::v1::DeleteSessionResponse response;
  const Status status =
      SessionServiceStub(client->channel()).DeleteSession({kCellCallMs}, request, &response);
  if (!status.ok()) console_.Fail(client->Explain("delete the session", status));
}

}  // namespace odyssey::ctl
