#include "agentd/metrics/metrics.h"

#include <optional>
#include <utility>
#include <vector>

#include "agentd/provider/provider_table.h"
#include "policy/model/tool_table.h"

namespace odyssey::agent {
namespace {

using metrics::Label;
using metrics::Series;

constexpr double kUsecPerSecond = 1e6;
constexpr char kModelCall[] = "model_call";  // of TurnStep.step

Label Providers() {
  Label out{"provider", {}};
  for (const provider::Provider& row : provider::kProviders) out.values.emplace_back(row.name);
  return out;
}

}  // namespace

Metrics::Metrics(const std::string& version)
    : sessions_(registry_.AddGauge({"odyssey_agentd_sessions", "Sessions that there are."})),
      turns_running_(
          registry_.AddGauge({"odyssey_agentd_turns_running",
                              "Turns that run, those that wait for a person included."})),
      turns_queued_(registry_.AddGauge({"odyssey_agentd_queue_depth",
                                        "Turns that wait for the ones before them, or a worker."})),
      approvals_pending_(registry_.AddGauge(
          {"odyssey_agentd_approvals_pending", "Requests for approval without an answer."})),
      journal_bytes_(registry_.AddGauge(
          {"odyssey_agentd_journal_bytes", "Bytes of the journals of all sessions."})),
      bundles_(registry_.AddGauge({"odyssey_agentd_bundles", "Bundles that are installed."})),
      supervisor_up_(registry_.AddGauge(
          {"odyssey_supervisor_up", "1: the supervisor answers agentd. 0: it does not."})),
      events_(registry_.AddCounter(
          {"odyssey_agentd_events_total", "Events that were appended to journals."})),
      turns_(registry_.AddCounter(
          {"odyssey_agentd_turns_total",
           "Turns that ended.",
           {{"outcome", {"completed", "failed", "cancelled", "interrupted"}}}})),
      tool_calls_(
          registry_.AddCounter({"odyssey_agentd_tool_calls_total",
                                "Calls of tools that ended, those that were refused included.",
                                {{"tool", policy::ToolNames()}, {"outcome", {"ok", "error"}}}})),
      approvals_(
          registry_.AddCounter({"odyssey_agentd_approvals_total",
                                "Requests for approval that were answered.",
                                {{"answer", {"allow_once", "allow_always", "deny"}},
                                 {"by", {"client", "timeout", "limit", "command", "webhook"}}}})),
      model_calls_(registry_.AddCounter({"odyssey_agentd_model_calls_total",
                                         "Calls of models.",
                                         {Providers(), {"outcome", {"ok", "error"}}},
                                         Series::kUsed})),
      tokens_(registry_.AddCounter(
          {"odyssey_agentd_tokens_total",
           "Tokens of these calls, as the provider counts them, or else agentd's estimate.",
           {Providers(), {"direction", {"input", "output"}}},
           Series::kUsed})),
      cost_(registry_.AddCounter(
          {"odyssey_agentd_cost_microdollars_total",
           "What these calls cost by the operator's prices, in millionths of a US dollar.",
           {Providers()},
           Series::kUsed})),
      turn_seconds_(registry_.AddHistogram(
          {"odyssey_agentd_turn_seconds", "How long turns ran; 0 for one that never began."},
          metrics::CommandBuckets())),
      approval_wait_(registry_.AddHistogram(
          {"odyssey_agentd_approval_wait_seconds", "From a request for approval to its answer."},
          metrics::PersonBuckets())),
      model_seconds_(registry_.AddHistogram({"odyssey_agentd_model_call_seconds",
                                             "From a call of a model to the end of its answer.",
                                             {Providers()},
                                             Series::kUsed},
                                            metrics::CommandBuckets())) {
  registry_.AddGauge({"odyssey_agentd_info", "Always 1.", {{"version", {version}}}})
      ->Set(1, {version});
}

void Metrics::OnEvent(const v1::Event& event, Time now) {
  events_->Add();
  switch (event.payload_case()) {
    case v1::Event::kToolCallFinished:
      return tool_calls_->Add({event.tool_call_finished().tool_name(),
                               event.tool_call_finished().success() ? "ok" : "error"});
    case v1::Event::kTurnStep:
      if (event.turn_step().step() == kModelCall) OnModelCall(event.turn_step());
      return;
    case v1::Event::kPermissionRequested: {
      const v1::PermissionRequested& request = event.permission_requested();
      // A copy for the journals of a worker's callers.
      if (!request.worker_session_id().empty()) return;
      const std::lock_guard lock(mutex_);
      asked_[request.request_id()] = {request.turn_id(), now};
      return;
    }
    case v1::Event::kApprovalResolved:
      return OnResolved(event.approval_resolved(), now);
    default:
      return;
  }
}

// Copies of the same answer come later, and find no request.
void Metrics::OnResolved(const v1::ApprovalResolved& resolved, Time now) {
  std::optional<Time> asked;
  {
    const std::lock_guard lock(mutex_);
    const auto it = asked_.find(resolved.request_id());
    if (it == asked_.end()) return;
    asked = it->second.at;
    asked_.erase(it);
  }
  approvals_->Add({resolved.decision(), resolved.by()});
  approval_wait_->Observe(std::chrono::duration<double>(now - *asked).count());
}

void Metrics::OnModelCall(const v1::TurnStep& step) {
  const std::string& provider = step.provider();
  model_calls_->Add({provider, step.failed() ? "error" : "ok"});
  model_seconds_->Observe(static_cast<double>(step.duration_usec()) / kUsecPerSecond, {provider});
  tokens_->Add({provider, "input"}, static_cast<double>(step.usage().input_tokens()));
  tokens_->Add({provider, "output"}, static_cast<double>(step.usage().output_tokens()));
  cost_->Add({provider}, static_cast<double>(step.usage().cost_microdollars()));
}

void Metrics::OnTurnEnd(const std::string& turn_id, const std::string& outcome,
                        std::chrono::milliseconds took) {
  turns_->Add({outcome});
  turn_seconds_->Observe(std::chrono::duration<double>(took).count());
  const std::lock_guard lock(mutex_);
  std::erase_if(asked_, [&](const auto& entry) { return entry.second.turn_id == turn_id; });
}

std::string Metrics::Text(const Now& now) {
  sessions_->Set(static_cast<double>(now.sessions));
  turns_running_->Set(static_cast<double>(now.turns_running));
  turns_queued_->Set(static_cast<double>(now.turns_queued));
  approvals_pending_->Set(static_cast<double>(now.approvals_pending));
  journal_bytes_->Set(static_cast<double>(now.journal_bytes));
  bundles_->Set(static_cast<double>(now.bundles));
  supervisor_up_->Set(now.supervisor_up ? 1 : 0);
  return registry_.Text();
}

}  // namespace odyssey::agent
