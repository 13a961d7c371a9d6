#include "ctl/client/client.h"

#include <errno.h>

#include <string_view>
#include <utility>

#include "common/base/refusal.h"
#include "common/rpc/call_status.h"
#include "common/rpc/peer_refusal.h"

namespace odyssey::ctl {
namespace {

std::string Socket(Daemon daemon, const Locations& locations) {
  return daemon == Daemon::kAgentd ? locations.agentd_socket : locations.supervisor_socket;
}

// Why there is no connection, in words that name the daemon.
Status WhyNot(Daemon daemon, const std::string& path, const Status& status) {
  const std::string who = DaemonName(daemon) + " at " + path;
  const int error = status.detail().error;
  if (error == ENOENT) return Unavailable("connect to " + who + ": there is no such socket");
  if (error == ECONNREFUSED) return Unavailable("connect to " + who + ": nothing listens on it");
  return error == 0 ? status : ErrnoStatus(error, "connect to " + who);
}

// What to do about a refusal, by its hint or its field; "" if it says all there is.
std::string NextStep(const Detail& detail) {
  constexpr std::pair<std::string_view, const char*> kSteps[] = {
      {kHintDanger, "--dangerous-sandbox-mode is that word."},
      {kHintCeiling, "odyssey-ctl policy explain prints what the operator grants."},
      {"session_id", "odyssey-ctl session list lists the sessions."},
      {"cell_id", "odyssey-ctl cell list lists the cells."},
      {"run_id", "odyssey-ctl cell put prints the run that it makes."},
      {"turn_id", "odyssey-ctl session show lists the turns of a session."}};
  for (const auto& [what, step] : kSteps) {
    if (detail.hint == what || detail.field == what) return step;
  }
  return "";
}

}  // namespace

Client::Client(Daemon daemon, std::string socket, std::shared_ptr<rpc::H2Channel> channel)
    : daemon_(daemon), socket_(std::move(socket)), channel_(std::move(channel)) {}

Result<Client> Client::Connect(Daemon daemon, const Locations& locations) {
  const std::string socket = Socket(daemon, locations);
  auto channel = std::make_shared<rpc::H2Channel>(socket);
  if (const Status status = channel->Open(); !status.ok()) return WhyNot(daemon, socket, status);
  return Client(daemon, socket, std::move(channel));
}

Failure Client::Explain(const std::string& what, const Status& status,
                        const dialect::Origins& origins) const {
  Failure failure = {what, origins.Locate(status).message(), NextStep(status.detail())};
  if (status.detail().hint == rpc::kHintConnectionLost) {
    const std::string refused = rpc::AskWhetherRefused(socket_);
    const bool agentd = daemon_ == Daemon::kAgentd;
    failure.why = DaemonName(daemon_) + " at " + socket_ +
                  (refused.empty() ? " closed the connection" : ": " + refused);
    failure.next = refused.empty() ? "It has ended, or was ended: odyssey-ctl status tells."
                   : agentd ? "Ask the operator to serve you: --allow-uid of odyssey-agentd, or "
                              "--allow-user of odyssey-ctl up."
                            : "Ask the operator to serve you: --client-uid of odyssey-supervisor; "
                              "sessions (odyssey-ctl run) need odyssey-agentd alone.";
  } else if (status.code() == Code::kDeadlineExceeded) {
    failure.why = DaemonName(daemon_) + " did not answer in time";
    failure.next = "odyssey-ctl status shows its state.";
  } else if (status.code() == Code::kUnimplemented) {
    failure.next = "odyssey-ctl version shows whether this program and the daemon differ.";
  }
  if (failure.why.empty()) failure.why = CodeName(status.code());
  return failure;
}

Failure ExplainConnect(const std::string& what, const Status& status) {
  Failure failure = {
      what, status.message(),
      "Start the daemons with: odyssey-ctl up (or name theirs with --state or --socket)"};
  if (status.code() == Code::kPermissionDenied) {
    failure.next = "Run this as root, or ask the operator to let you reach that socket.";
  }
  return failure;
}

std::string DaemonName(Daemon daemon) {
  return daemon == Daemon::kAgentd ? "odyssey-agentd" : "odyssey-supervisor";
}

}  // namespace odyssey::ctl
