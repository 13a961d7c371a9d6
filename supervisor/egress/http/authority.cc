#include "supervisor/egress/http/authority.h"

#include <charconv>
#include <utility>

#include "common/base/status.h"
#include "policy/egress/address.h"
#include "policy/egress/pattern.h"
#include "supervisor/egress/http/field.h"

namespace odyssey::egress::http {
namespace {

std::optional<uint16_t> ParsePort(std::string_view text) {
  if (text.empty() || !IsDigit(text[0]) || text[0] == '0') return std::nullopt;
  uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, port);
  if (error != std::errc() || stop != end) return std::nullopt;
  return port;
}

// Of a host that no policy opens. nullopt: a number in an unusual form, which resolvers take for an
// address (WHATWG URL, "ends in a number").
std::optional<std::string> SpellRefusedHost(const std::string& written) {
  const bool brackets = written.front() == '[';
  if (const auto address =
          ParseAddress(brackets ? written.substr(1, written.size() - 2) : written)) {
    return ToString(*address);
  }
  std::string name = LowerCase(written);
  if (name.back() == '.') name.pop_back();
  if (IsDigit(name[name.rfind('.') + 1])) return std::nullopt;
  return name;
}

std::optional<Authority> ParseHost(std::string_view text) {
  const bool brackets = !text.empty() && text.front() == '[';
  if (text.empty() || text.find('*') != std::string_view::npos) return std::nullopt;
  if (!brackets && text.find(':') != std::string_view::npos) return std::nullopt;
  Authority out = {.written = std::string(text)};
  Result<std::string> host = NormalizeHost(out.written);
  if (host.ok()) {
    out.host = *std::move(host);
    return out;
  }
  if (host.status().code() != Code::kPermissionDenied) return std::nullopt;
  std::optional<std::string> refused = SpellRefusedHost(out.written);
  if (!refused) return std::nullopt;
  out.host = *std::move(refused);
  out.never = host.status().message();
  return out;
}

}  // namespace

std::optional<Authority> ParseAuthority(std::string_view text) {
  const size_t bracket = text.rfind(']');
  const size_t colon = text.find(':', bracket == std::string_view::npos ? 0 : bracket);
  std::optional<Authority> out = ParseHost(text.substr(0, colon));
  if (!out || colon == std::string_view::npos) return out;
  out->port = ParsePort(text.substr(colon + 1));
  if (!out->port) return std::nullopt;
  return out;
}

}  // namespace odyssey::egress::http
