#include "ctl/tui/daemon_calls.h"

#include <algorithm>

namespace odyssey::ctl {

Result<Client> DaemonCalls::Reach(Daemon daemon) {
  std::optional<Client>& held = daemon == Daemon::kAgentd ? agentd_ : supervisor_;
  if (held && held->channel()->Open().ok()) return *held;
  held.reset();
  ODY_ASSIGN_OR_RETURN(held, Client::Connect(daemon, locations_));
  return *held;
}

std::vector<rpc::H2Channel*> DaemonCalls::Channels() const {
  std::vector<rpc::H2Channel*> out;
  for (const auto& pending : pending_) {
    rpc::H2Channel* const channel = &pending->call().channel();
    if (std::find(out.begin(), out.end(), channel) == out.end()) out.push_back(channel);
  }
  return out;
}

void DaemonCalls::AppendPolled(std::vector<pollfd>* polled) const {
  for (rpc::H2Channel* const channel : Channels()) polled->push_back(channel->Polled());
}

int DaemonCalls::TimeoutMs() const {
  int least = -1;
  for (const auto& pending : pending_) {
    // Sending may have shown that the connection is lost.
    if (pending->call().done()) return 0;
    const int timeout = pending->call().channel().timeout_ms();
    if (timeout >= 0 && (least < 0 || timeout < least)) least = timeout;
  }
  return least;
}

void DaemonCalls::Deliver() {
  for (rpc::H2Channel* const channel : Channels()) channel->Pump();
  // What a call's end adds waits for the next time.
  std::vector<std::unique_ptr<Pending>> stepped = std::exchange(pending_, {});
  for (auto& pending : stepped) {
    if (!pending->Step()) pending_.push_back(std::move(pending));
  }
}

}  // namespace odyssey::ctl
