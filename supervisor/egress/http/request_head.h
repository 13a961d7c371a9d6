#ifndef ODYSSEY_SUPERVISOR_EGRESS_HTTP_REQUEST_HEAD_H_
#define ODYSSEY_SUPERVISOR_EGRESS_HTTP_REQUEST_HEAD_H_

// The head of a request, from bytes that a command of a cell chose. Strict: what two servers could
// read in two ways is refused, and nothing behind the head is looked at.

#include <cstddef>
#include <string>
#include <string_view>

#include "supervisor/egress/http/authority.h"
#include "supervisor/egress/http/connection.h"
#include "supervisor/egress/http/field.h"
#include "supervisor/egress/http/framing.h"
#include "supervisor/egress/http/head_scanner.h"
#include "supervisor/egress/http/parsed.h"

namespace odyssey::egress::http {

inline constexpr size_t kMaxMethodBytes = 32;

// What the client takes us for, which says the forms of a target.
enum class Role {
  kProxy,   // absolute, authority with CONNECT, `*` with OPTIONS
  kOrigin,  // within a tunnel or a transparent connection: origin, `*` with OPTIONS
};

enum class TargetForm { kOrigin, kAbsolute, kAuthority, kAsterisk };

struct RequestHead {
  size_t size = 0;     // of the head, with the empty line at its end
  std::string method;  // as it was written: methods are case-sensitive
  TargetForm form = TargetForm::kOrigin;
  std::string scheme;  // "http" with kAbsolute, else ""
  // Of the target, else of Host. The port of an absolute target is 80 if it has none; that of Host
  // may be missing. Without a host in HTTP/1.0 only.
  Authority authority;
  std::string path;   // as it was written; "*" with kAsterisk, "" with kAuthority
  std::string query;  // as it was written, without `?`
  Version version = Version::kHttp11;
  Fields fields;  // all, in their order
  Framing framing;
  bool close = false;             // the connection ends with the response
  bool expects_continue = false;  // the client waits for 100 before it sends the body
  // kWebSocket: a whole request for it, but for the key.
  Upgrade upgrade = Upgrade::kNone;
  friend bool operator==(const RequestHead&, const RequestHead&) = default;
};

// `bytes` begins with a head; `scanner` remembers what of it was looked at by the call before,
// which had the beginning of the same bytes, and is new for each head.
Parsed<RequestHead> ParseRequestHead(std::string_view bytes, Role role, HeadScanner* scanner);
Parsed<RequestHead> ParseRequestHead(std::string_view bytes, Role role);

}  // namespace odyssey::egress::http

#endif  // ODYSSEY_SUPERVISOR_EGRESS_HTTP_REQUEST_HEAD_H_
