#include "agentd/service/metrics_collector.h"

#include <unistd.h>

#include <chrono>

#include "agentd/service/session_access.h"

namespace odyssey::service {
namespace {

constexpr uid_t kRoot = 0;
constexpr std::chrono::seconds kSupervisorAnswers{4};  // it gives odyssey-egress one of them

}  // namespace

MetricsCollector::MetricsCollector(agent::Metrics* metrics, const session::Sessions* sessions,
                                   const bundle::BundleStore* bundles,
                                   const std::shared_ptr<grpc::Channel>& supervisor)
    : metrics_(metrics),
      sessions_(sessions),
      bundles_(bundles),
      supervisor_(ops::v1::Metrics::NewStub(supervisor)) {}

agent::Metrics::Now MetricsCollector::CountNow() const {
  const session::Runtime& runtime = sessions_->runtime();
  agent::Metrics::Now now;
  for (const session::SessionPtr& record : sessions_->List()) {
    ++now.sessions;
    now.journal_bytes += runtime.journals->BytesOf(record->id);
    for (const session::TurnRecord& turn : record->turns) {
      now.turns_running += turn.status == session::TurnStatus::kRunning;
      now.turns_queued += turn.status == session::TurnStatus::kQueued;
    }
  }
  now.approvals_pending = runtime.approvals->size();
  now.bundles = bundles_->List(kRoot).size();
  return now;
}

std::string MetricsCollector::Collect() {
  agent::Metrics::Now now = CountNow();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kSupervisorAnswers);
  ops::v1::GetMetricsResponse response;
  now.supervisor_up = supervisor_->GetMetrics(&context, {}, &response).ok();
  return metrics_->Text(now) + (now.supervisor_up ? response.text() : "");
}

Result<std::string> MetricsCollector::CollectFor(const grpc::ServerContextBase& call) {
  ODY_ASSIGN_OR_RETURN(const Peer peer, PeerOf(*sessions_, call, "GetMetrics"));
  if (peer.uid == kRoot || peer.uid == getuid() || peer.is_admin) return Collect();
  return PermissionDenied(
      "metrics count what all users do: they are for root, for members of --admin-group, and for "
      "agentd's own uid, not for uid " +
      std::to_string(peer.uid));
}

}  // namespace odyssey::service
