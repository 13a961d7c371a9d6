#ifndef ODYSSEY_SUPERVISOR_EGRESS_WEBSOCKET_HANDSHAKE_H_
#define ODYSSEY_SUPERVISOR_EGRESS_WEBSOCKET_HANDSHAKE_H_

// The fields by which a request opens a WebSocket and 101 agrees (RFC 6455 section 4). The methods,
// Connection and Upgrade are checked with the heads. Pure.

#include <string>
#include <string_view>

#include "supervisor/egress/http/field.h"

namespace odyssey::egress::websocket {

// What is wrong with a client's request, "" if nothing: one key of 16 bytes in base64, one version,
// which is 13.
std::string_view CheckRequest(const http::Fields& request);

// What is wrong with the answer, "" if nothing: one accept, which is the key's; no extension; at
// most one protocol, which was offered. `request` was checked.
std::string_view CheckAnswer(const http::Fields& request, const http::Fields& answer);

// The Sec-WebSocket-Accept for a key.
std::string AcceptOf(std::string_view key);

}  // namespace odyssey::egress::websocket

#endif  // ODYSSEY_SUPERVISOR_EGRESS_WEBSOCKET_HANDSHAKE_H_
