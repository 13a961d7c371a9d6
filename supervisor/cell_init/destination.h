#ifndef ODYSSEY_SUPERVISOR_CELL_INIT_DESTINATION_H_
#define ODYSSEY_SUPERVISOR_CELL_INIT_DESTINATION_H_

// Where a command of a cell without a network wants to connect, or to send a datagram, from the
// seccomp notification of the call, before it is made (ADR 0041). The call goes on and the kernel
// refuses it: no route leads out of the network namespace. So nothing is decided by what the call's
// pointer leads to.

#include <string>

struct seccomp_data;
struct seccomp_notif;

namespace odyssey::cell_init {

// connect(2), or sendto(2), which is notified only with an address.
bool GivesAddress(const seccomp_data& call);

struct Destination {
  std::string text;       // "192.0.2.1:443", "[2001:db8::1]:443"; "": nothing to record
  uint16_t own_port = 0;  // of the cell's loopback
};

// Nothing to record is an address of the cell's loopback, or of another family, or one that cannot
// be read.
Destination DestinationOf(const seccomp_notif& call);

}  // namespace odyssey::cell_init

#endif  // ODYSSEY_SUPERVISOR_CELL_INIT_DESTINATION_H_
