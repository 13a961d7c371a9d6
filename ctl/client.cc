#include "ctl/client.h"

#include <errno.h>
#include <grpc/support/log.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "common/base/refusal.h"
#include "common/os/unique_fd.h"
#include "common/rpc/status_map.h"

namespace odyssey::ctl {
namespace {

constexpr int kMaxMessageBytes = 32 * 1024 * 1024;  // twice what the supervisor takes
// How far a stream may run ahead of its reader: enough to keep the pipe full between two reads.
constexpr int kStreamWindowBytes = 8 * 1024 * 1024;
constexpr int kFrameBytes = 1024 * 1024;
// How long a daemon on a busy machine may take to answer a new connection.
constexpr int kConnectMs = 10'000;

std::string Socket(Daemon daemon, const Locations& locations) {
  return daemon == Daemon::kAgentd ? locations.agentd_socket : locations.supervisor_socket;
}

// gRPC's own error for a socket that is not there names neither the cause nor the path.
Status Probe(Daemon daemon, const std::string& path) {
  const std::string who = DaemonName(daemon) + " at " + path;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return InvalidArgument("socket path " + path + ": longer than " +
                           std::to_string(sizeof(address.sun_path) - 1) + " bytes");
  }
  memcpy(address.sun_path, path.c_str(), path.size() + 1);
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return ErrnoStatus(errno, "create socket");
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    return OkStatus();
  }
  if (errno == ENOENT) return Unavailable("connect to " + who + ": there is no such socket");
  if (errno == ECONNREFUSED) return Unavailable("connect to " + who + ": nothing listens on it");
  return ErrnoStatus(errno, "connect to " + who);
}

// UNAVAILABLE is also an answer of a daemon that is well, which comes with details (status_map.h).
bool IsConnectionLost(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAVAILABLE && status.error_details().empty();
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

std::shared_ptr<grpc::Channel> OpenChannel(const std::string& socket) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kStreamWindowBytes);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kFrameBytes);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // A daemon that restarts is back within moments.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // Despite its name the time that one attempt has, and its failure is the call's.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  return grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

Client::Client(Daemon daemon, std::string socket, std::shared_ptr<grpc::Channel> channel)
    : daemon_(daemon), socket_(std::move(socket)), channel_(std::move(channel)) {}

Result<Client> Client::Connect(Daemon daemon, const Locations& locations) {
  // What gRPC itself would log on stderr says nothing that the call's status does not.
  gpr_set_log_verbosity(static_cast<gpr_log_severity>(GPR_LOG_SEVERITY_ERROR + 1));
  const std::string socket = Socket(daemon, locations);
  ODY_RETURN_IF_ERROR(Probe(daemon, socket));
  return Client(daemon, socket, OpenChannel(socket));
}

Failure Client::Explain(const std::string& what, const grpc::Status& status,
                        const dialect::Origins& origins) const {
  const Status failed = rpc::FromGrpc(status);
  Failure failure = {what, origins.Locate(failed).message(), NextStep(failed.detail())};
  if (IsConnectionLost(status)) {
    failure.why = DaemonName(daemon_) + " at " + socket_ + " closed the connection";
    failure.next = "It refuses uids it was not told to serve (this one is " +
                   std::to_string(geteuid()) + "), or it has ended.";
  } else if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    failure.why = DaemonName(daemon_) + " did not answer in time";
    failure.next = "odyssey-ctl status tells whether it is well.";
  } else if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    failure.next = "odyssey-ctl version tells whether this program and the daemon differ.";
  }
  if (failure.why.empty()) failure.why = "status " + std::to_string(status.error_code());
  return failure;
}

Failure ExplainConnect(const std::string& what, const Status& status) {
  Failure failure = {
      what, status.message(),
      "Start the daemons with: odyssey-ctl up (or name theirs with --state or --socket)"};
  if (status.code() == Code::kPermissionDenied) failure.next = "Run this as root.";
  return failure;
}

std::string DaemonName(Daemon daemon) {
  return daemon == Daemon::kAgentd ? "odyssey-agentd" : "odyssey-supervisor";
}

std::unique_ptr<grpc::ClientContext> MakeContext(int deadline_ms) {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(deadline_ms));
  return context;
}

}  // namespace odyssey::ctl
