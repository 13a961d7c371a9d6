#include "agentd/mcp_client/server.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "agentd/mcp_client/http_connection.h"
#include "agentd/mcp_client/stdio_connection.h"
#include "agentd/tool/refused_destinations.h"
#include "common/base/utf8.h"

namespace odyssey::mcp_client {
namespace {

namespace pb = ::odyssey::supervisor::v1;

constexpr size_t kMaxPages = 128;
constexpr size_t kShownText = 300;
constexpr char kEnv[] = "env";

std::string Shown(const std::string& text) { return SanitizeUtf8(text.substr(0, kShownText)); }

// What another process answered with, in the place of a result.
Status FromError(const std::string& method, const RpcError& error) {
  return {Code::kAborted, method + ": the server answered with an error: " + Shown(error.message)};
}

std::string TextOf(const Json& object, const char* name) {
  if (!object.is_object()) return "";
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

bool IsSpoken(const std::string& version) {
  return version == kProtocolVersion ||
         std::find(std::begin(kOlderVersions), std::end(kOlderVersions), version) !=
             std::end(kOlderVersions);
}

// What the last exchange has, after those before it.
void Append(Exchange&& before, Exchange* out) {
  before.denials.insert(before.denials.end(), out->denials.begin(), out->denials.end());
  before.decisions.insert(before.decisions.end(), out->decisions.begin(), out->decisions.end());
  out->denials = std::move(before.denials);
  out->decisions = std::move(before.decisions);
}

// The supervisor takes variables of the policy alone; `env` gives the process its own.
pb::ExecStart StartOf(const dialect::McpServerSpec& spec, const Place& place) {
  pb::ExecStart start;
  start.set_cell_id(place.cell_id);
  if (!spec.env.empty()) {
    start.add_argv(kEnv);
    for (const auto& [name, value] : spec.env) start.add_argv(name + "=" + value);
  }
  for (const std::string& word : spec.command) start.add_argv(word);
  start.set_cwd(spec.cwd);
  start.set_default_wall_clock_ms(place.wall_clock_ms);
  return start;
}

// What the policy would have to name; "" = it refused nothing.
std::string RefusedText(const std::vector<pb::EgressDecision>& decisions) {
  pb::ExecOutcome ended;
  ended.mutable_egress()->Assign(decisions.begin(), decisions.end());
  std::string out;
  for (const tools::RefusedDestination& refused : tools::RefusedDestinations(ended)) {
    out += "; " + refused.host + ":" + std::to_string(refused.port) +
           " was refused: " + refused.why + "; allow it in sandbox.permissions.network_policies";
  }
  return out;
}

}  // namespace

std::vector<std::string> ProgramsFor(const dialect::McpServerSpec& server) {
  std::vector<std::string> out;
  if (!server.env.empty()) out.emplace_back("/usr/bin/env");
  if (server.url.empty()) return out;
  out.emplace_back("/usr/bin/curl");
  const bool by_shell = std::any_of(server.headers.begin(), server.headers.end(), [](auto& header) {
    return header.second.find("${") != std::string::npos;
  });
  if (by_shell) out.emplace_back("/bin/sh");
  return out;
}

Server::Server(sandbox::Sandbox* sandbox, dialect::McpServerSpec spec)
    : sandbox_(sandbox), spec_(std::move(spec)) {}

CallTerms Server::TermsOf(std::stop_token stop) const {
  return {std::chrono::milliseconds(spec_.timeout_ms), std::move(stop)};
}

std::shared_ptr<Connection> Server::Open(const Place& place) const {
  if (spec_.command.empty()) {
    return std::make_shared<HttpConnection>(sandbox_, &spec_, place.cell_id);
  }
  return std::make_shared<StdioConnection>(sandbox_, StartOf(spec_, place));
}

std::shared_ptr<Connection> Server::connection() const {
  std::lock_guard lock(mutex_);
  return connection_;
}

Exchange Server::Initialize(const CallTerms& terms) {
  const std::shared_ptr<Connection> to = connection();
  const Json params = {{"protocolVersion", kProtocolVersion},
                       {"capabilities", Json::object()},
                       {"clientInfo", {{"name", "odyssey"}, {"version", ODYSSEY_VERSION}}}};
  Exchange out = to->Call("initialize", params, terms);
  if (!out.status.ok()) return out;
  if (out.error) {
    out.status = FromError("initialize", *out.error);
    return out;
  }
  const std::string version = TextOf(out.result, "protocolVersion");
  if (!IsSpoken(version)) {
    out.status = {Code::kAborted, "initialize: the server speaks version \"" + Shown(version) +
                                      "\", and we " + kProtocolVersion};
    return out;
  }
  to->Speak(version);
  Exchange told = to->Notify("notifications/initialized", Json::object(), terms);
  Append(std::move(out), &told);
  return told;
}

Exchange Server::ListAll(const CallTerms& terms) {
  const std::shared_ptr<Connection> to = connection();
  (void)to->TakeListChanged();  // what is said from here on is of a later list
  ToolList list(spec_);
  Exchange out;
  std::string cursor;
  for (size_t page = 0; page == 0 || !cursor.empty(); ++page) {
    if (page == kMaxPages) {
      out.status = {Code::kAborted,
                    "tools/list: more than " + std::to_string(kMaxPages) + " pages"};
      return out;
    }
    Exchange one =
        to->Call("tools/list", cursor.empty() ? Json::object() : Json({{"cursor", cursor}}), terms);
    Append(std::move(out), &one);
    out = std::move(one);
    if (!out.status.ok()) return out;
    if (out.error) {
      out.status = FromError("tools/list", *out.error);
      return out;
    }
    Result<std::string> next = list.AddPage(out.result);
    if (!next.ok()) {
      out.status = {Code::kAborted, next.status().message()};
      return out;
    }
    cursor = *std::move(next);
  }
  std::lock_guard lock(mutex_);
  tools_ = list.tools();
  refused_ = list.refused();
  for (const ToolDefinition& tool : tools_) first_.emplace(tool.name, tool);
  listed_ = true;
  return out;
}

Exchange Server::Connect(const Place& place, const CallTerms& terms) {
  const std::shared_ptr<Connection> made = Open(place);
  std::shared_ptr<Connection> former;  // its end is waited for without the lock
  {
    std::lock_guard lock(mutex_);
    former = std::exchange(connection_, made);
    cell_id_ = place.cell_id;
  }
  former.reset();
  Exchange out = Initialize(terms);
  if (!out.status.ok()) return out;
  Exchange listed = ListAll(terms);
  Append(std::move(out), &listed);
  return listed;
}

Exchange Server::Ready(const Place& place, bool again, const CallTerms& terms) {
  const std::shared_ptr<Connection> present = connection();
  bool usable = false;
  {
    std::lock_guard lock(mutex_);
    usable = present != nullptr && present->is_open() && cell_id_ == place.cell_id && listed_ &&
             problem_.ok();
  }
  Exchange out;
  if (!usable) {
    out = Connect(place, terms);
  } else if (again || present->TakeListChanged()) {
    out = ListAll(terms);
  }
  if (!out.status.ok()) {
    const std::shared_ptr<Connection> broken = connection();
    std::lock_guard lock(mutex_);
    problem_ = {out.status.code(), "MCP server " + spec_.name + ": " + out.status.message() +
                                       RefusedText(out.decisions)};
    out.status = problem_;
    tools_.clear();
    refused_.clear();
    listed_ = false;
    connection_.reset();
    return out;
  }
  std::lock_guard lock(mutex_);
  problem_ = OkStatus();
  return out;
}

// What a URL serves may be another program by now.
Status Server::List(const Place& place, Freshness freshness, std::stop_token stop) {
  std::lock_guard starting(starting_);
  {
    std::lock_guard lock(mutex_);
    const bool changed = connection_ != nullptr && connection_->TakeListChanged();
    const bool is_known = listed_ || !problem_.ok();
    const bool is_process = !spec_.command.empty();
    if (!changed && is_known && freshness == Freshness::kKnown) return problem_;
    if (!changed && listed_ && is_process) return OkStatus();
  }
  const Exchange out = Ready(place, /*again=*/true, TermsOf(std::move(stop)));
  return out.status;
}

Exchange Server::CallTool(const ToolDefinition& judged, const Json& arguments, const Place& place,
                          std::stop_token stop) {
  const CallTerms terms = TermsOf(std::move(stop));
  Exchange ready;
  std::shared_ptr<Connection> to;
  {
    std::lock_guard starting(starting_);
    ready = Ready(place, false, terms);
    to = connection();
  }
  if (!ready.status.ok()) return ready;
  const std::vector<ToolDefinition> now = tools();
  const auto same = [&](const ToolDefinition& tool) { return tool.digest == judged.digest; };
  if (std::none_of(now.begin(), now.end(), same)) {
    ready.status = FailedPrecondition(
        "the server's tool is not the one that was judged any more; "
        "call it again");
    return ready;
  }
  Exchange out = to->Call("tools/call", {{"name", judged.name}, {"arguments", arguments}}, terms);
  Append(std::move(ready), &out);
  if (!out.status.ok()) {
    out.status = {out.status.code(), "MCP server " + spec_.name + ": " + out.status.message() +
                                         RefusedText(out.decisions)};
  }
  return out;
}

std::vector<ToolDefinition> Server::tools() const {
  std::lock_guard lock(mutex_);
  return tools_;
}

std::vector<RefusedTool> Server::refused() const {
  std::lock_guard lock(mutex_);
  return refused_;
}

Status Server::problem() const {
  std::lock_guard lock(mutex_);
  return problem_;
}

std::optional<ToolDefinition> Server::FirstSeen(const ToolDefinition& tool) const {
  std::lock_guard lock(mutex_);
  const auto found = first_.find(tool.name);
  if (found == first_.end() || found->second.digest == tool.digest) return std::nullopt;
  return found->second;
}

bool Server::RunsIn(const std::string& cell_id) const {
  const std::shared_ptr<Connection> to = connection();
  std::lock_guard lock(mutex_);
  return to != nullptr && to->is_process() && to->is_open() && cell_id_ == cell_id;
}

void Server::End() {
  const std::shared_ptr<Connection> to = connection();
  if (to != nullptr) to->End();
}

}  // namespace odyssey::mcp_client
