#ifndef ODYSSEY_CTL_ACCESS_LISTEN_H_
#define ODYSSEY_CTL_ACCESS_LISTEN_H_

// The listeners of `cell forward`, and whose the connections to them are.

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "ctl/access/forward_spec.h"

namespace odyssey::ctl {

struct Listener {
  UniqueFd fd;       // does not block
  std::string text;  // "127.0.0.1:8080", "[::1]:8080"
  uint16_t port = 0;
  uint16_t remote = 0;
  bool loopback = true;
};

// Without an address 127.0.0.1 and, where the host has it, ::1, at the same port.
Result<std::vector<Listener>> Listen(const ForwardSpec& spec);

// The uid that made the socket at the other end of a TCP connection from this host, as the kernel
// has it (NETLINK_SOCK_DIAG); nothing if no process has it open, as of a connection from another
// host.
std::optional<uid_t> UidOfPeer(int connection);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_ACCESS_LISTEN_H_
