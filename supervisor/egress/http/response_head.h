#ifndef ODYSSEY_SUPERVISOR_EGRESS_HTTP_RESPONSE_HEAD_H_
#define ODYSSEY_SUPERVISOR_EGRESS_HTTP_RESPONSE_HEAD_H_

// The head of a response, from bytes of a server. As strict as requests, but that values may have
// bytes above 127. Each error has status 502, which is what the client receives.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/egress/http/connection.h"
#include "supervisor/egress/http/field.h"
#include "supervisor/egress/http/framing.h"
#include "supervisor/egress/http/head_scanner.h"
#include "supervisor/egress/http/parsed.h"

namespace odyssey::egress::http {

// Heads with 1xx before the response to one request.
inline constexpr int kMaxInformational = 16;

// The request that is answered, as it was sent to the server.
struct Asked {
  std::string method;
  bool websocket = false;  // with an upgrade to it
  int informational = 0;   // 1xx heads so far
};

struct ResponseHead {
  size_t size = 0;  // of the head, with the empty line at its end
  Version version = Version::kHttp11;
  int status = 0;  // 100 to 599; below 200 another head follows, but for 101
  std::string reason;
  Fields fields;  // all, in their order
  Framing framing;
  // Of a response without a body, the Content-Length that it would have had.
  std::optional<uint64_t> described_length;
  bool close = false;  // the server takes no further request
  friend bool operator==(const ResponseHead&, const ResponseHead&) = default;
};

// As ParseRequestHead. 101 is an error where no WebSocket was asked for, and 1xx after the cap.
Parsed<ResponseHead> ParseResponseHead(std::string_view bytes, const Asked& asked,
                                       HeadScanner* scanner);
Parsed<ResponseHead> ParseResponseHead(std::string_view bytes, const Asked& asked);

}  // namespace odyssey::egress::http

#endif  // ODYSSEY_SUPERVISOR_EGRESS_HTTP_RESPONSE_HEAD_H_
