#include "supervisor/egress/http/connection.h"

#include <algorithm>
#include <string>
#include <vector>

namespace odyssey::egress::http {
namespace {

constexpr std::string_view kHopByHop[] = {
    "connection", "content-length", "http2-settings",    "keep-alive",
    "te",         "trailer",        "transfer-encoding", "upgrade"};
// What a request's Connection field may hold.
constexpr std::string_view kConnectionOptions[] = {
    "close", "http2-settings", "keep-alive", "te", "trailer", "proxy-connection", "upgrade"};

template <size_t N>
bool IsOneOf(std::string_view text, const std::string_view (&words)[N]) {
  return std::any_of(std::begin(words), std::end(words),
                     [&](std::string_view word) { return SameText(word, text); });
}

}  // namespace

bool IsHopByHop(std::string_view name) {
  return IsOneOf(name, kHopByHop) || BeginsWithText(name, "proxy-");
}

std::variant<Connection, ParseError> ReadRequestConnection(const Fields& fields) {
  for (const std::string& member : ListMembers(fields, "connection")) {
    if (!IsOneOf(member, kConnectionOptions)) {
      return ParseError{400, "Connection names a field that is not hop-by-hop"};
    }
  }
  return ReadResponseConnection(fields);
}

Connection ReadResponseConnection(const Fields& fields) {
  Connection out;
  for (const std::string& member : ListMembers(fields, "connection")) {
    out.close = out.close || SameText(member, "close");
    out.upgrade = out.upgrade || SameText(member, "upgrade");
  }
  return out;
}

Upgrade ReadUpgrade(const Fields& fields) {
  if (CountFields(fields, "upgrade") == 0) return Upgrade::kNone;
  const std::vector<std::string> members = ListMembers(fields, "upgrade");
  const bool websocket = members.size() == 1 && SameText(members[0], "websocket");
  return websocket ? Upgrade::kWebSocket : Upgrade::kOther;
}

}  // namespace odyssey::egress::http
