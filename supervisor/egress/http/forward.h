#ifndef ODYSSEY_SUPERVISOR_EGRESS_HTTP_FORWARD_H_
#define ODYSSEY_SUPERVISOR_EGRESS_HTTP_FORWARD_H_

// The heads that are sent: to a server the request that was decided, to a client the server's
// response. Each is written from a value, in one spelling, and ends with its empty line.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "supervisor/egress/http/path.h"
#include "supervisor/egress/http/request_head.h"
#include "supervisor/egress/http/response_head.h"

namespace odyssey::egress::http {

// What happens to a request for another protocol.
enum class UpgradeRule {
  kRefuse,     // 403
  kStrip,      // it is sent without
  kWebSocket,  // a request for WebSocket is sent, another one is refused
};

// Where the request goes and how, as it was decided.
struct Route {
  std::string host;  // in its one spelling, an IPv6 address without brackets
  uint16_t port = 0;
  uint16_t default_port = 443;  // which Host does not name: 80 without TLS
  UpgradeRule upgrade = UpgradeRule::kRefuse;
  bool websocket_extensions = false;  // the offer of compression is sent too
  std::optional<Framing> framing;     // of a body that is changed; the request's, if there is none
};

// The head for the server, always HTTP/1.1. Of `head` it takes the method, the form, the framing
// and the fields: without those about a connection, Expect, Via, Forwarded and X-Forwarded-*; Host
// is the route's. An error 403 by the upgrade rule; 425 for a request that was sent as early data
// of TLS; 500 for a field that is none, which a caller put there.
std::variant<std::string, ParseError> WriteRequestHead(const RequestHead& head,
                                                       const CanonicalPath& path,
                                                       const Route& route);

// What frameworks could take for the request's method, in upper case but for the method itself,
// which is the first: the fields X-HTTP-Method-Override, X-Method-Override and X-HTTP-Method, and
// `_method` of the query. A rule that limits methods must allow all of them. `_method` in a body is
// not seen here.
std::vector<std::string> EffectiveMethods(const RequestHead& head,
                                          const std::vector<QueryPair>& query);

// How a response is framed for a client of this version: HTTP/1.0 knows no chunks.
Framing FramingForClient(const ResponseHead& head, Version client);

// The head for the client, always HTTP/1.1: without fields about a connection, those that
// Connection names, and Alt-Svc, which would lead around the proxy. `close`: Connection: close is
// added. A body that ends with the connection closes it in any case.
std::string WriteResponseHead(const ResponseHead& head, const Framing& framing, bool close);

}  // namespace odyssey::egress::http

#endif  // ODYSSEY_SUPERVISOR_EGRESS_HTTP_FORWARD_H_
