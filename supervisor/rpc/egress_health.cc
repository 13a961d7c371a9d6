#include "supervisor/rpc/egress_health.h"

#include <poll.h>
#include <sys/socket.h>

#include "common/os/message_socket.h"
#include "common/os/unix_connect.h"
#include "supervisor/wire/egress_wire.h"

namespace odyssey::supervisor {
namespace {

constexpr int kAnswerMs = 1000;  // agentd gives GetInfo two seconds
constexpr uint64_t kNumber = 1;

}  // namespace

// A connection without a policy is one of no cell: what it syncs is answered by the broker itself.
Status AskEgress(const std::string& socket_path) {
  const Result<UniqueFd> socket = ConnectUnix(socket_path, SOCK_SEQPACKET | SOCK_NONBLOCK);
  if (!socket.ok()) return Unavailable("odyssey-egress: " + socket.status().message());
  const Status sent = SendMessage(socket->get(), egress_wire::Encode(egress_wire::Sync{kNumber}));
  if (!sent.ok()) return Unavailable("odyssey-egress: " + sent.message());
  pollfd answer = {socket->get(), POLLIN, 0};
  if (poll(&answer, 1, kAnswerMs) != 1) {
    return Unavailable("odyssey-egress at " + socket_path + " did not answer in a second");
  }
  const Result<Message> message = ReceiveMessage(socket->get());
  egress_wire::Synced synced;
  if (message.ok() && egress_wire::Decode(message->bytes, &synced).ok()) return OkStatus();
  return Unavailable("odyssey-egress at " + socket_path + " does not serve this supervisor");
}

Feature DescribeEgress(const Status& answered) {
  return {"egress", answered.ok(), answered.ok() ? "odyssey-egress answers" : answered.message()};
}

}  // namespace odyssey::supervisor
