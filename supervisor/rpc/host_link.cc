#include "supervisor/rpc/host_link.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <utility>

#include "common/base/refusal.h"
#include "common/os/message_socket.h"

namespace odyssey::supervisor {
namespace {

// For a runner that does not answer; it sends its Hello at once, but may be just starting.
constexpr timeval kTimeout{10, 0};
constexpr timeval kForever{0, 0};

Status NotOffered(const std::string& why) {
  return Refused(Code::kFailedPrecondition, "mode", "danger_full_access",
                 why + "; read_only and workspace_write are allowed");
}

void SetTimeouts(int socket, const timeval& timeout) {
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
}

// Others may make sockets in the run directory too.
Status CheckPeer(int socket) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return ErrnoStatus(errno, "ask for the host runner's uid");
  }
  if (peer.uid == 0) return OkStatus();
  return PermissionDenied("the host runner's socket is served by uid " + std::to_string(peer.uid));
}

}  // namespace

Result<HostLink::Connection> HostLink::Open() const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path_.size() >= sizeof(address.sun_path)) {
    return NotOffered("the supervisor's run directory has too long a name for it");
  }
  memcpy(address.sun_path, socket_path_.c_str(), socket_path_.size());
  Connection out;
  out.socket = UniqueFd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!out.socket) return ErrnoStatus(errno, "create socket");
  SetTimeouts(out.socket.get(), kTimeout);
  if (connect(out.socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    if (errno != ENOENT && errno != ECONNREFUSED) {
      return ErrnoStatus(errno, "connect to " + socket_path_);
    }
    return NotOffered(
        "the operator grants it to no user (no grant file when the supervisor started)");
  }
  ODY_RETURN_IF_ERROR(CheckPeer(out.socket.get()));
  ODY_ASSIGN_OR_RETURN(const Message message, ReceiveMessage(out.socket.get()));
  ODY_RETURN_IF_ERROR(wire::Decode(message.bytes, &out.hello));
  SetTimeouts(out.socket.get(), kForever);
  if (!out.hello.error.empty()) return NotOffered(out.hello.error);
  return out;
}

Result<std::shared_ptr<RootClient>> HostLink::Connect() const {
  ODY_ASSIGN_OR_RETURN(Connection connection, Open());
  return std::make_shared<RootClient>(std::move(connection.socket));
}

Result<wire::Launched> HostLink::Check(const wire::HostPlan& plan) const {
  ODY_ASSIGN_OR_RETURN(const Connection connection, Open());
  const int runner = connection.socket.get();
  SetTimeouts(runner, kTimeout);
  const wire::Launch launch{.request = 1, .plan = wire::Encode(plan)};
  ODY_RETURN_IF_ERROR(SendMessage(runner, wire::Encode(launch)));
  ODY_ASSIGN_OR_RETURN(const Message message, ReceiveMessage(runner));
  wire::Launched answer;
  ODY_RETURN_IF_ERROR(wire::Decode(message.bytes, &answer));
  return answer;
}

Feature HostLink::Describe() const {
  const auto connection = Open();
  Feature feature{"danger_full_access", false, connection.status().message()};
  if (!connection.ok()) return feature;
  for (const std::string& user : connection->hello.users) {
    feature.detail += (feature.detail.empty() ? "UNCONFINED on the host, for: " : ", ") + user;
  }
  feature.in_force = !feature.detail.empty();
  if (!feature.in_force) feature.detail = "the operator's grant file grants it to no user";
  return feature;
}

wire::HostPlan HostPlanOf(const compile::Compiled& compiled, const std::string& cell_id,
                          uint32_t owner_uid) {
  return {.cell_id = cell_id,
          .uid = owner_uid,
          .workspace = compiled.workspace,
          .memory_bytes = compiled.limits.memory_bytes,
          .cpu_millis = compiled.limits.cpu_millis,
          .pids = compiled.limits.pids};
}

std::vector<Feature> DescribeHostLayers(uint32_t uid) {
  return {
      {"confinement", false,
       "UNCONFINED: commands run on the host as uid " + std::to_string(uid) +
           ", with everything that user may do; no namespace, Landlock or seccomp"},
      {"cgroup", true, "a group of its own: limits, and the end of everything a command started"},
      {"no_new_privs", true, "and every capability set empty; no group but the primary one"},
  };
}

}  // namespace odyssey::supervisor
