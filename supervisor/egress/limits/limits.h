#ifndef ODYSSEY_SUPERVISOR_EGRESS_LIMITS_LIMITS_H_
#define ODYSSEY_SUPERVISOR_EGRESS_LIMITS_LIMITS_H_

// Bounds of odyssey-egress and its workers, whatever a cell's policy says: what one cell can make
// them hold and wait for. The operator sets them by name.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace odyssey::egress {

struct Limits {
  // Seconds.
  uint32_t head = 10;             // for a request's head, once it has begun
  uint32_t handshake = 10;        // for TLS, and the first message of a connection
  uint32_t request_stall = 60;    // without a byte of a request's body, or between two requests
  uint32_t response_stall = 600;  // without a byte of a server's response
  uint32_t tunnel_idle = 3600;    // without a byte in either direction of a tunnel
  // Of one cell, at a time.
  uint32_t clients = 4096;    // connections of its programs; more wait
  uint32_t per_host = 256;    // connections to one host; more are refused
  uint32_t cell_dials = 128;  // connections being made; more wait
  // Of all cells, at a time; more wait.
  uint32_t dials = 1024;
  uint32_t workers = 1024;
  uint32_t worker_mib = 1024;  // of data of one worker
  friend bool operator==(const Limits&, const Limits&) = default;
};

// "tunnel-idle=60". INVALID_ARGUMENT: there is no such limit, or it is not 1 to 10^6.
Status SetLimit(std::string_view text, Limits* limits);

// Each of them, as SetLimit takes it.
std::vector<std::string> ToText(const Limits& limits);

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_LIMITS_LIMITS_H_
