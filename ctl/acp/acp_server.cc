#include "ctl/acp/acp_server.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "ctl/acp/acp_prompt.h"
#include "ctl/approval/approval_call.h"
#include "ctl/base/signal_fd.h"
#include "ctl/client/client.h"
#include "ctl/session/session_calls.h"
#include "odyssey/agent/v1/session.stub.h"

namespace odyssey::ctl {

using agent::v1::SessionServiceStub;

namespace {

constexpr int kProtocolVersion = 1;
constexpr uint32_t kSessionsOfPage = 200;

struct Mode {
  ApproveMode mode;
  const char* id;
  const char* name;
  const char* description;
};
constexpr Mode kModes[] = {
    {ApproveMode::kAsk, "ask", "Ask", "Ask about each call that the agent's rules ask about"},
    {ApproveMode::kAll, "all", "Allow all",
     "Allow what the rules ask about; what they deny stays denied"},
    {ApproveMode::kDeny, "deny", "Deny", "Deny what the rules ask about"},
    {ApproveMode::kStrict, "strict", "Strict", "Deny it, and tell the model the rule"},
};

Json ModeState(ApproveMode current) {
  Json modes = Json::array();
  Json current_id;
  for (const Mode& mode : kModes) {
    modes.push_back({{"id", mode.id}, {"name", mode.name}, {"description", mode.description}});
    if (mode.mode == current) current_id = mode.id;
  }
  return {{"currentModeId", current_id}, {"availableModes", std::move(modes)}};
}

RpcError InvalidParams(std::string why) { return {RpcCode::kInvalidParams, std::move(why)}; }

// A text of the parameters; nothing if it is missing or no string.
std::optional<std::string> TextParam(const Json& params, const char* name) {
  const auto found = params.find(name);
  if (found == params.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

RpcError MissingText(const char* name) {
  return InvalidParams(std::string(name) + ": expected a string");
}

// What a session cannot have of its client; empty: all of it can be had.
std::optional<RpcError> RefusedOfSession(const Json& params) {
  const auto has = [&](const char* name) {
    const auto found = params.find(name);
    return found != params.end() && !found->empty();
  };
  if (has("mcpServers")) {
    return InvalidParams(
        "mcpServers: an agent's programs run in its cell, and these would run outside it; remove "
        "them from the editor's settings for this agent");
  }
  if (has("additionalDirectories")) {
    return InvalidParams("additionalDirectories: the bundle's mounts say what its cell shows");
  }
  return std::nullopt;
}

}  // namespace

AcpServer::AcpServer(const Console& console, const Locations& locations, AcpOptions options,
                     int signal_fd)
    : console_(console),
      locations_(locations),
      options_(std::move(options)),
      signal_fd_(signal_fd),
      peer_(console) {}

void AcpServer::Run() {
  const RpcHandlers handlers = {
      .on_request = [this](const RpcRequest& request) { return Dispatch(request); },
      .on_notification = [this](const RpcNotification& each) { OnNotification(each); },
      .on_response = [this](const RpcResponse& response) { OnResponse(response); }};
  for (bool open = true; open;) {
    std::vector<pollfd> polled = {{STDIN_FILENO, POLLIN, 0}, {signal_fd_, POLLIN, 0}};
    std::vector<std::string> running;
    for (const auto& [id, session] : sessions_) {
      if (session.turn == nullptr) continue;
      running.push_back(id);
      polled.push_back({session.turn->feed->fd(), POLLIN, 0});
    }
    if (poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) break;
    if (polled[1].revents != 0 && TakeSignal(signal_fd_) != 0) break;
    for (size_t i = 0; i < running.size(); ++i) {
      if (polled[i + 2].revents != 0) OnItem(running[i], &sessions_.at(running[i]));
    }
    if (polled[0].revents != 0) open = peer_.Read();
    peer_.Deliver(handlers);
  }
  for (auto& [id, session] : sessions_) {
    if (session.turn != nullptr) Cancel(id, session.turn.get());
  }
  for (auto& [id, session] : sessions_) {
    if (session.turn != nullptr) session.turn->canceller->Wait();
  }
}

std::optional<RpcAnswer> AcpServer::Dispatch(const RpcRequest& request) {
  const std::string& method = request.method;
  if (method == "initialize") return Initialize(request.params);
  if (!initialized_) {
    return RpcError{RpcCode::kInvalidRequest, method + ": the first request is initialize"};
  }
  // The peer is known by the uid at agentd's socket: there is nothing to authenticate by.
  if (method == "authenticate") return InvalidParams("methodId: there is no such method");
  if (method == "session/new") return NewSession(request.params);
  if (method == "session/load") return OpenSession(request.params, /*replay=*/true);
  if (method == "session/resume") return OpenSession(request.params, /*replay=*/false);
  if (method == "session/list") return ListSessions(request.params);
  if (method == "session/delete") return DeleteSession(request.params);
  if (method == "session/set_mode") return SetMode(request.params);
  if (method == "session/prompt") return Prompt(request);
  if (method == "session/close") {
    RpcError error;
    Session* const session = FindSession(request.params, &error);
    if (session == nullptr) return error;
    const std::string id = *TextParam(request.params, "sessionId");
    if (session->turn != nullptr) {
      Cancel(id, session->turn.get());
      session->turn->canceller->Wait();
      EndTurn(session, Json{{"stopReason", "cancelled"}});
    }
    sessions_.erase(id);
    return Json::object();
  }
  return RpcError{RpcCode::kMethodNotFound, method + ": there is no such method"};
}

void AcpServer::OnNotification(const RpcNotification& notification) {
  if (notification.method == "session/cancel") {
    RpcError error;
    Session* const session = FindSession(notification.params, &error);
    if (session != nullptr && session->turn != nullptr) {
      Cancel(*TextParam(notification.params, "sessionId"), session->turn.get());
    }
  } else if (notification.method == "$/cancel_request") {
    const Json id = notification.params.value("requestId", Json());
    for (auto& [session_id, session] : sessions_) {
      if (session.turn != nullptr && session.turn->request_id == id) {
        Cancel(session_id, session.turn.get());
      }
    }
  }
}

void AcpServer::OnResponse(const RpcResponse& response) {
  if (!response.id.is_string()) return;
  for (auto& [id, session] : sessions_) {
    if (session.turn == nullptr) continue;
    const auto asked = session.turn->asked.find(response.id.get<std::string>());
    if (asked == session.turn->asked.end()) continue;
    const agent::v1::PermissionRequested request = std::move(asked->second);
    session.turn->asked.erase(asked);
    const AnswerSent sent = SendAnswer(locations_, request, AnswerOf(request, response));
    if (sent.failure) console_.Fail(*sent.failure);
    return;
  }
}

RpcAnswer AcpServer::Initialize(const Json& params) {
  if (!params.contains("protocolVersion") || !params["protocolVersion"].is_number_integer()) {
    return InvalidParams("protocolVersion: expected an integer");
  }
  initialized_ = true;
  return Json{
      {"protocolVersion", kProtocolVersion},
      {"agentCapabilities",
       {{"loadSession", true},
        {"promptCapabilities", {{"image", false}, {"audio", false}, {"embeddedContext", true}}},
        {"mcpCapabilities", {{"http", false}, {"sse", false}}},
        {"sessionCapabilities",
         {{"list", Json::object()},
          {"delete", Json::object()},
          {"resume", Json::object()},
          {"close", Json::object()}}}}},
      {"authMethods", Json::array()},
      {"agentInfo", {{"name", "odyssey"}, {"title", "Odyssey"}, {"version", ODYSSEY_VERSION}}}};
}

Json AcpServer::Opened(const std::string& id, const std::string& cwd) {
  sessions_.erase(id);
  sessions_.emplace(id, Session{AcpUpdates(cwd), options_.approve, nullptr});
  return {{"modes", ModeState(options_.approve)}};
}

RpcAnswer AcpServer::NewSession(const Json& params) {
  const std::optional<std::string> cwd = TextParam(params, "cwd");
  if (!cwd) return MissingText("cwd");
  if (cwd->empty() || cwd->front() != '/') return InvalidParams("cwd: expected an absolute path");
  if (const auto refused = RefusedOfSession(params)) return *refused;
  const Result<Client> client = Client::Connect(Daemon::kAgentd, locations_);
  if (!client.ok()) return ErrorOf(ExplainConnect("create a session", client.status()));
  const Made<agent::v1::Session> made =
      TryCreateSession(console_, *client, SessionServiceStub(client->channel()),
                       {.bundle = options_.bundle,
                        .cwd = *cwd,
                        .cwd_key = "cwd",
                        .allow_danger = options_.allow_danger,
                        .review = options_.review});
  if (const auto* failure = std::get_if<Failure>(&made)) return ErrorOf(*failure);
  const auto& session = std::get<agent::v1::Session>(made);
  Json out = {{"sessionId", session.id()}};
  out.update(Opened(session.id(), session.cwd()));
  return out;
}

RpcAnswer AcpServer::OpenSession(const Json& params, bool replay) {
  const std::optional<std::string> id = TextParam(params, "sessionId");
  if (!id) return MissingText("sessionId");
  if (const auto refused = RefusedOfSession(params)) return *refused;
  const auto open = sessions_.find(*id);
  if (open != sessions_.end() && open->second.turn != nullptr) {
    return RpcError{RpcCode::kInvalidRequest, "sessionId: a prompt of this session runs"};
  }
  const Result<Client> client = Client::Connect(Daemon::kAgentd, locations_);
  if (!client.ok()) return ErrorOf(ExplainConnect("open the session", client.status()));
  agent::v1::GetSessionRequest request;
  request.set_session_id(*id);
  agent::v1::GetSessionResponse response;
  const Status status =
      SessionServiceStub(client->channel()).GetSession({kQuickCallMs}, request, &response);
  if (!status.ok()) {
    return ErrorOf(client->Explain("open the session", status), RpcCode::kResourceNotFound);
  }
  Json out = Opened(*id, response.session().cwd());
  if (replay) Replay(*id);
  return out;
}

void AcpServer::Replay(const std::string& id) {
  EventFeed feed(locations_, id, 0, /*follow=*/false);
  AcpUpdates& updates = sessions_.at(id).updates;
  for (EventFeed::Item item = feed.Take(); !item.ended; item = feed.Take()) {
    if (item.event) SendUpdates(id, updates.Map(*item.event, Prompts::kShow));
  }
}

RpcAnswer AcpServer::ListSessions(const Json& params) {
  const Result<Client> client = Client::Connect(Daemon::kAgentd, locations_);
  if (!client.ok()) return ErrorOf(ExplainConnect("list the sessions", client.status()));
  agent::v1::ListSessionsRequest request;
  request.set_page_size(kSessionsOfPage);
  request.set_page_token(TextParam(params, "cursor").value_or(""));
  agent::v1::ListSessionsResponse response;
  const Status status =
      SessionServiceStub(client->channel()).ListSessions({kQuickCallMs}, request, &response);
  if (!status.ok()) return ErrorOf(client->Explain("list the sessions", status));
  const std::optional<std::string> cwd = TextParam(params, "cwd");
  Json sessions = Json::array();
  for (const agent::v1::Session& session : response.sessions()) {
    if (!session.parent_session_id().empty() || (cwd && *cwd != session.cwd())) continue;
    sessions.push_back({{"sessionId", session.id()},
                        {"cwd", session.cwd()},
                        {"title", session.bundle_ref()},
                        {"updatedAt", session.created_at()}});
  }
  Json out = {{"sessions", std::move(sessions)}};
  if (!response.next_page_token().empty()) out["nextCursor"] = response.next_page_token();
  return out;
}

RpcAnswer AcpServer::DeleteSession(const Json& params) {
  const std::optional<std::string> id = TextParam(params, "sessionId");
  if (!id) return MissingText("sessionId");
  const Result<Client> client = Client::Connect(Daemon::kAgentd, locations_);
  if (!client.ok()) return ErrorOf(ExplainConnect("delete the session", client.status()));
  agent::v1::DeleteSessionRequest request;
  request.set_session_id(*id);
  agent::v1::DeleteSessionResponse response;
  const Status status =
      SessionServiceStub(client->channel()).DeleteSession({kCellCallMs}, request, &response);
  if (!status.ok()) {
    return ErrorOf(client->Explain("delete the session", status), RpcCode::kResourceNotFound);
  }
  const auto session = sessions_.find(*id);
  if (session != sessions_.end()) {
    if (session->second.turn != nullptr) {
      EndTurn(&session->second, Json{{"stopReason", "cancelled"}});
    }
    sessions_.erase(session);
  }
  return Json::object();
}

RpcAnswer AcpServer::SetMode(const Json& params) {
  RpcError error;
  Session* const session = FindSession(params, &error);
  if (session == nullptr) return error;
  const std::optional<std::string> id = TextParam(params, "modeId");
  if (!id) return MissingText("modeId");
  for (const Mode& mode : kModes) {
    if (*id != mode.id) continue;
    session->approve = mode.mode;
    return Json::object();
  }
  return InvalidParams("modeId \"" + *id + "\": expected ask, all, deny or strict");
}

AcpServer::Session* AcpServer::FindSession(const Json& params, RpcError* error) {
  const std::optional<std::string> id = TextParam(params, "sessionId");
  if (!id) {
    *error = MissingText("sessionId");
    return nullptr;
  }
  const auto found = sessions_.find(*id);
  if (found != sessions_.end()) return &found->second;
  *error = {RpcCode::kResourceNotFound,
            "sessionId \"" + *id + "\": no session that is open here; session/load opens one"};
  return nullptr;
}

std::optional<RpcAnswer> AcpServer::Prompt(const RpcRequest& request) {
  RpcError error;
  Session* const session = FindSession(request.params, &error);
  if (session == nullptr) return error;
  if (session->turn != nullptr) {
    return RpcError{RpcCode::kInvalidRequest, "sessionId: a prompt of this session runs"};
  }
  const std::string id = *TextParam(request.params, "sessionId");
  const Result<std::string> prompt = PromptText(request.params.value("prompt", Json()));
  if (!prompt.ok()) return InvalidParams(prompt.status().message());
  const Result<Client> client = Client::Connect(Daemon::kAgentd, locations_);
  if (!client.ok()) return ErrorOf(ExplainConnect("submit the turn", client.status()));
  const Made<agent::v1::SubmitTurnResponse> made =
      TrySubmitTurn(*client, SessionServiceStub(client->channel()), id, *prompt, {});
  if (const auto* failure = std::get_if<Failure>(&made)) return ErrorOf(*failure);
  const auto& submitted = std::get<agent::v1::SubmitTurnResponse>(made);
  session->turn = std::make_unique<Turn>();
  session->turn->request_id = request.id;
  session->turn->id = submitted.turn_id();
  session->turn->feed =
      std::make_unique<EventFeed>(locations_, id, submitted.after_sequence(), /*follow=*/true);
  return std::nullopt;
}

void AcpServer::OnItem(const std::string& id, Session* session) {
  const EventFeed::Item item = session->turn->feed->Take();
  if (!item.notice.empty()) console_.Warn("odyssey-ctl: " + item.notice);
  if (item.ended) {
    const Failure lost = item.failure.value_or(Failure{"follow the turn", "the events ended", ""});
    return EndTurn(session, ErrorOf(lost));
  }
  if (!item.event) return;
  const agent::v1::Event& event = *item.event;
  SendUpdates(id, session->updates.Map(event, Prompts::kHide));
  if (event.has_permission_requested()) {
    OnPermission(id, session, event.permission_requested());
  } else if (event.has_approval_resolved()) {
    std::erase_if(session->turn->asked, [&](const auto& asked) {
      return asked.second.request_id() == event.approval_resolved().request_id();
    });
  } else if (event.turn_completed().turn_id() == session->turn->id) {
    EndTurn(session, Json{{"stopReason", StopReasonOf(event.turn_completed())}});
  } else if (event.turn_cancelled().turn_id() == session->turn->id) {
    EndTurn(session, Json{{"stopReason", "cancelled"}});
  } else if (event.turn_failed().turn_id() == session->turn->id) {
    EndTurn(session,
            RpcError{RpcCode::kInternalError, "the turn failed: " + event.turn_failed().message()});
  }
}

void AcpServer::OnPermission(const std::string& id, Session* session,
                             const agent::v1::PermissionRequested& request) {
  const std::optional<AutomaticAnswer> answer =
      AnswerWithoutAsking(session->approve, /*has_terminal=*/true, request);
  if (answer) {
    const AnswerSent sent = SendAnswer(locations_, request, answer->answer);
    if (sent.failure) console_.Fail(*sent.failure);
    return;
  }
  const std::string asked =
      peer_.Ask("session/request_permission", {{"sessionId", id},
                                               {"toolCall", session->updates.ToolCallOf(request)},
                                               {"options", AcpUpdates::OptionsOf(request)}});
  session->turn->asked[asked] = request;
}

void AcpServer::SendUpdates(const std::string& id, const std::vector<Json>& updates) {
  for (const Json& update : updates) {
    peer_.Notify("session/update", {{"sessionId", id}, {"update", update}});
  }
}

void AcpServer::EndTurn(Session* session, const RpcAnswer& answer) {
  const std::unique_ptr<Turn> turn = std::move(session->turn);
  peer_.Answer(turn->request_id, answer);
}

void AcpServer::Cancel(const std::string& id, Turn* turn) {
  if (turn->canceller != nullptr) return;
  turn->asked.clear();
  turn->canceller = std::make_unique<TurnCanceller>(console_, locations_, id, turn->id);
}

}  // namespace odyssey::ctl
