#ifndef ODYSSEY_COMMON_OS_MESSAGE_SOCKET_H_
#define ODYSSEY_COMMON_OS_MESSAGE_SOCKET_H_

// One datagram with file descriptors over a SOCK_SEQPACKET pair: the transport of the private
// protocols between root, rpc and the cell.

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/os/unique_fd.h"

namespace odyssey {

// Most bytes of one message. A plan is the largest thing sent: see policy/plan.
inline constexpr size_t kMaxMessageBytes = 160 * 1024;
// Most descriptors of one message: stdin, stdout, stderr and one spare place.
inline constexpr size_t kMaxMessageFds = 4;

struct Message {
  std::string bytes;
  std::vector<UniqueFd> fds;  // all close-on-exec
};

// A connected SOCK_SEQPACKET pair, both ends close-on-exec.
Result<std::pair<UniqueFd, UniqueFd>> MessageSocketPair();

// Both take MSG_DONTWAIT in `flags`, for a socket that is not non-blocking or need not stay so.

// Sends one message. Never raises SIGPIPE. With a non-blocking socket a full queue is
// RESOURCE_EXHAUSTED; a closed peer is UNAVAILABLE.
Status SendMessage(int socket, std::string_view bytes, const std::vector<int>& fds = {},
                   int flags = 0);

// Receives one message; blocks if the socket does. A closed peer is UNAVAILABLE ("peer closed"),
// no message on a non-blocking socket RESOURCE_EXHAUSTED, a truncated one INVALID_ARGUMENT.
Result<Message> ReceiveMessage(int socket, int flags = 0);

}  // namespace odyssey

#endif  // ODYSSEY_COMMON_OS_MESSAGE_SOCKET_H_
