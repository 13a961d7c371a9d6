#include "agentd/session/worker_call.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/base/join.h"
#include "common/base/refusal.h"

namespace odyssey::session {
namespace {

using Json = nlohmann::json;

}  // namespace

Status CheckWorkerCall(const SessionRecord& caller, const dialect::AgentSpec& agent,
                       const dialect::Bundle& bundle, const std::string& worker) {
  const std::vector<std::string>& allow = agent.delegation.allow;
  const bool allowed = std::any_of(allow.begin(), allow.end(), [&](const std::string& one) {
    return one == "*" || one == worker;
  });
  if (!allowed) {
    return Refused(
        Code::kPermissionDenied, "worker", worker,
        "Worker '" + worker + "' not in allow_workers list. Allowed: [" + Join(allow, ", ") + "]");
  }
  ODY_RETURN_IF_ERROR(dialect::FindAgent(bundle, worker).status());
  const std::vector<std::string>& callers = caller.parent.callers;
  const bool above = std::find(callers.begin(), callers.end(), worker) != callers.end();
  if (worker == caller.agent_id || above) {
    return Refused(Code::kPermissionDenied, "worker", worker,
                   "it waits for this call itself: " + Join(callers, ", ") +
                       (callers.empty() ? "" : ", ") + caller.agent_id);
  }
  if (callers.size() < kMaxWorkerDepth) return OkStatus();
  return Refused(Code::kPermissionDenied, "worker", worker,
                 "this agent is " + std::to_string(kMaxWorkerDepth) +
                     " calls deep already, which is the most");
}

SessionRecord WorkerRecord(const SessionRecord& caller, const std::string& turn_id,
                           const dialect::AgentSpec& worker, const policy::Budget& budget) {
  SessionRecord out;
  out.bundle = caller.bundle;
  out.agent_id = worker.id;
  out.model_provider = worker.model.provider;
  out.model_id = worker.model.name;
  out.cwd = caller.cwd;
  out.owner_uid = caller.owner_uid;
  out.allow_danger = caller.allow_danger;
  out.review = caller.review;
  out.reviews = caller.reviews;
  out.approval_timeout_ms = caller.approval_timeout_ms;
  out.env_sources = caller.env_sources;
  out.env = caller.env;
  out.parent = {caller.id, turn_id, caller.parent.callers};
  out.budget = budget;
  out.parent.callers.push_back(caller.agent_id);
  return out;
}

uint64_t DeadlineLeftMs(int64_t deadline_at_ms, const agent::Clock& clock) {
  if (deadline_at_ms == 0) return 0;
  const int64_t left = deadline_at_ms - agent::UnixMillis(clock.Now());
  return left > 0 ? static_cast<uint64_t>(left) : 1;
}

tools::ToolResult WorkerResult(const std::string& session_id, const WorkerEnd& end) {
  Json result = {{"session_id", session_id}};
  if (end.status == TurnStatus::kCompleted) {
    result["output"] = end.output;
  } else {
    const char* how = end.status == TurnStatus::kCancelled ? "was cancelled" : "failed";
    result["error"] = std::string("execution failed: the worker's turn ") + how +
                      (end.output.empty() ? "" : ": " + end.output);
  }
  return {result.dump(-1, ' ', false, Json::error_handler_t::replace),
          end.status == TurnStatus::kCompleted};
}

std::string AttachmentNote(const std::vector<std::string>& paths) {
  if (paths.empty()) return "";
  std::string out = "\n\nAttached files:";
  for (const std::string& path : paths) out += "\n" + path;
  return out;
}

}  // namespace odyssey::session
