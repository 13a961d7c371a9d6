#ifndef ODYSSEY_SUPERVISOR_EGRESS_H2_HEAD_H_
#define ODYSSEY_SUPERVISOR_EGRESS_H2_HEAD_H_

// Heads of HTTP/2 (RFC 9113 section 8) as heads of HTTP/1.1. Those that arrive are read as the head
// of HTTP/1.1 that says the same, so both versions are equally strict; those that are sent are
// taken from the text that http::WriteRequestHead and http::WriteResponseHead made.

#include <string>
#include <string_view>
#include <variant>

#include "supervisor/egress/http/field.h"
#include "supervisor/egress/http/parsed.h"
#include "supervisor/egress/http/request_head.h"
#include "supervisor/egress/http/response_head.h"

namespace odyssey::egress::h2 {

// It breaks the rules of HTTP/2 itself: its stream is reset with PROTOCOL_ERROR.
struct Malformed {
  std::string reason;  // as of ParseError
  friend bool operator==(const Malformed&, const Malformed&) = default;
};

// `fields`: as they came, pseudo-header fields first. `ended`: no body follows. A body without a
// Content-Length is kChunked, for it ends as chunks do: by saying so.
std::variant<http::RequestHead, http::ParseError, Malformed> ReadRequest(const http::Fields& fields,
                                                                         bool ended);

// The response to `asked`, or one with 1xx before it.
std::variant<http::ResponseHead, Malformed> ReadResponse(const http::Fields& fields, bool ended,
                                                         const http::Asked& asked);

// Those behind a body.
std::variant<http::Fields, Malformed> ReadTrailers(const http::Fields& fields);

// Of a head as HTTP/1.1 writes it: the same with pseudo-header fields, names in lower case, and
// without what is about a connection.
http::Fields RequestFields(std::string_view head);
http::Fields ResponseFields(std::string_view head);

}  // namespace odyssey::egress::h2

#endif  // ODYSSEY_SUPERVISOR_EGRESS_H2_HEAD_H_
