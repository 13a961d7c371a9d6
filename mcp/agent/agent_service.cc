#include "mcp/agent/agent_service.h"

#include <sys/random.h>

#include <utility>

#include "mcp/agent/agent_scope.h"

namespace odyssey::mcp {
namespace {

constexpr size_t kKeyBytes = 32;
constexpr int kCreateMs = 30 * 60'000;  // as of a cell that waits for others
constexpr char kCreate[] = "/odyssey.agent.v1.SessionService/CreateSession";
constexpr char kInstructions[] =
    "These tools work in a sandbox. Its directory is /workspace; directories of the host are "
    "below /workspace/mount. A result with `denials` says what the sandbox refused.";

std::string RandomKey() {
  std::string key(kKeyBytes, '\0');
  ODY_CHECK(getrandom(key.data(), key.size(), 0) == static_cast<ssize_t>(key.size()));
  return key;
}

}  // namespace

void CreateSession(const Caller& caller, AgentCalls* calls, AgentOptions::OnSession on_session) {
  agent::v1::CreateSessionRequest request;
  request.set_bundle(caller.bundle);
  request.set_cwd(caller.cwd);
  request.set_review(caller.review);
  calls->Ask<agent::v1::CreateSessionResponse>(
      kCreate, kCreateMs, request,
      [on_session = std::move(on_session)](const Status& status, const auto& answer) {
        on_session(status, answer.session());
      });
}

std::optional<agent::v1::ResolveApprovalRequest> DenyWithoutAsking(
    const agent::v1::PermissionRequested& request, bool asks) {
  if (asks) return std::nullopt;
  agent::v1::ResolveApprovalRequest out;
  out.set_request_id(request.request_id());
  out.set_decision(agent::v1::DECISION_DENY);
  out.set_note("the client cannot ask a person: it has not the capability elicitation");
  return out;
}

AgentService::AgentService(AgentOptions options)
    : options_(std::move(options)),
      facts_{options_.version, kInstructions, {{"tools", Json::object()}}},
      states_(RandomKey()) {}

AgentService::~AgentService() = default;

std::shared_ptr<Scope> AgentService::NewScope(const Caller& caller) {
  return std::make_shared<AgentScope>(this, caller);
}

void AgentService::WhenClosed(std::function<void()> closed) {
  if (closing_.empty()) return closed();
  closed_ = std::move(closed);
}

void AgentService::Remove(const std::string& token, const Leftovers& leftovers) {
  const size_t left = leftovers.sessions.size() + leftovers.turns.size();
  if (left == 0) return;
  const uint64_t key = ++last_closing_;
  const auto calls = std::make_shared<AgentCalls>(options_.link, token);
  closing_[key] = calls;
  const auto done = [this, key, count = std::make_shared<size_t>(left)](const Status&) {
    if (--*count == 0) OnRemoved(key);
  };
  for (const auto& [session_id, turn_id] : leftovers.turns) {
    AgentScope::CancelTurn(calls.get(), session_id, turn_id, done);
  }
  for (const std::string& id : leftovers.sessions) AgentScope::Remove(calls.get(), id, done);
}

void AgentService::OnRemoved(uint64_t key) {
  closing_.erase(key);
  if (!closing_.empty()) return;
  if (const auto closed = std::exchange(closed_, nullptr)) closed();
}

}  // namespace odyssey::mcp
