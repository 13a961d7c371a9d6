#ifndef ODYSSEY_SUPERVISOR_EGRESS_HTTP_CONNECTION_H_
#define ODYSSEY_SUPERVISOR_EGRESS_HTTP_CONNECTION_H_

// The fields that are about one connection and not about the message (RFC 9110 section 7.6).

#include <string_view>
#include <variant>

#include "supervisor/egress/http/field.h"
#include "supervisor/egress/http/parsed.h"

namespace odyssey::egress::http {

enum class Upgrade { kNone, kWebSocket, kOther };

struct Connection {
  bool close = false;
  bool upgrade = false;
  friend bool operator==(const Connection&, const Connection&) = default;
};

// Never forwarded as it was received, by a request or a response: Transfer-Encoding and
// Content-Length too, which are written anew.
bool IsHopByHop(std::string_view name);

// An error for a Connection field that names a field which is not hop-by-hop: it would have the
// next server of a chain remove Authorization or Host.
std::variant<Connection, ParseError> ReadRequestConnection(const Fields& fields);

// Of a response, which may name any fields of its own.
Connection ReadResponseConnection(const Fields& fields);

// What the Upgrade fields ask for; kWebSocket for nothing but `websocket`.
Upgrade ReadUpgrade(const Fields& fields);

}  // namespace odyssey::egress::http

#endif  // ODYSSEY_SUPERVISOR_EGRESS_HTTP_CONNECTION_H_
