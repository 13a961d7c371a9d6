#include "http/head/access.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/base/utf8.h"

namespace odyssey::head {
namespace {

constexpr std::string_view kBearer = "bearer ";
constexpr size_t kMaxTokenBytes = 128;
constexpr size_t kMaxPortDigits = 5;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsWord(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string LowerOf(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), Lower);
  return out;
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// What may go into a header of another protocol.
bool IsToken(std::string_view text) {
  return !text.empty() && text.size() <= kMaxTokenBytes &&
         std::all_of(text.begin(), text.end(), IsWord);
}

Status Unauthenticated(std::string message) { return {Code::kUnauthenticated, std::move(message)}; }

// The value of our cookie; nothing: there is none, or more than one, of which a page of another
// port of this host may have set one.
std::optional<std::string_view> CookieIn(std::string_view cookies) {
  std::optional<std::string_view> out;
  for (size_t at = 0; at < cookies.size();) {
    const size_t end = std::min(cookies.find(';', at), cookies.size());
    const std::string_view pair = Trimmed(cookies.substr(at, end - at));
    at = end + 1;
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos || pair.substr(0, equals) != kCookieName) continue;
    if (out) return std::nullopt;
    out = pair.substr(equals + 1);
  }
  return out;
}

}  // namespace

std::set<std::string> LoopbackNames() { return {"127.0.0.1", "localhost", "[::1]"}; }

std::string NameOfHost(std::string_view host) {
  const bool bracketed = !host.empty() && host.front() == '[';
  const size_t end = bracketed ? host.find(']') : host.find(':');
  if (bracketed && end == std::string_view::npos) return "";
  const size_t size = bracketed ? end + 1 : std::min(end, host.size());
  const std::string_view rest = host.substr(size);
  if (!rest.empty()) {
    const std::string_view port = rest.substr(1);
    if (rest.front() != ':' || port.empty() || port.size() > kMaxPortDigits ||
        !std::all_of(port.begin(), port.end(), IsDigit)) {
      return "";
    }
  }
  return LowerOf(host.substr(0, size));
}

Status CheckHostAndOrigin(const AccessFields& fields, const std::set<std::string>& names) {
  if (fields.hosts != 1) {
    return InvalidArgument("Host: there must be one, and there are " +
                           std::to_string(fields.hosts));
  }
  const std::string name = NameOfHost(fields.host);
  if (name.empty() || names.count(name) == 0) {
    return PermissionDenied("Host " + SanitizeUtf8(std::string(fields.host)) +
                            ": not a name of this server; the setting host_names adds one");
  }
  if (fields.origin.empty()) return OkStatus();
  const std::string host = LowerOf(fields.host), origin = LowerOf(fields.origin);
  // https: of a proxy before us that ends TLS.
  if (origin == "http://" + host || origin == "https://" + host) return OkStatus();
  return PermissionDenied("Origin " + SanitizeUtf8(std::string(fields.origin)) +
                          ": pages of other sites may not call this server");
}

Result<Credential> FindCredential(const AccessFields& fields) {
  if (!fields.authorization.empty()) {
    const std::string_view given = fields.authorization;
    if (LowerOf(given.substr(0, kBearer.size())) != kBearer ||
        !IsToken(Trimmed(given.substr(kBearer.size())))) {
      return Unauthenticated("Authorization: must be \"Bearer TOKEN\"");
    }
    return Credential{std::string(Trimmed(given.substr(kBearer.size()))), false};
  }
  const std::optional<std::string_view> cookie = CookieIn(fields.cookie);
  if (!cookie || !IsToken(*cookie)) {
    return Unauthenticated(
        "a token is needed, as \"Authorization: Bearer TOKEN\"; odyssey-ctl token create makes "
        "one, and odyssey-ctl web opens a browser's way");
  }
  if (fields.changes && fields.origin.empty()) {
    return PermissionDenied("Origin: a request that changes something by a cookie needs it");
  }
  return Credential{std::string(*cookie), true};
}

}  // namespace odyssey::head
