#ifndef ODYSSEY_SUPERVISOR_EGRESS_HTTP_PARSED_H_
#define ODYSSEY_SUPERVISOR_EGRESS_HTTP_PARSED_H_

// What reading a head gives: more bytes are needed, it is refused, or a value.

#include <string>
#include <variant>

namespace odyssey::egress::http {

struct NeedMore {
  friend bool operator==(const NeedMore&, const NeedMore&) = default;
};

struct ParseError {
  int status = 400;    // for the client; of a response head 502
  std::string reason;  // in ASCII without control characters, and without bytes of the peer
  friend bool operator==(const ParseError&, const ParseError&) = default;
};

template <typename T>
using Parsed = std::variant<NeedMore, ParseError, T>;

}  // namespace odyssey::egress::http

#endif  // ODYSSEY_SUPERVISOR_EGRESS_HTTP_PARSED_H_
