#include "mcp/protocol/request_state.h"

#include <string.h>

#include <utility>

#include "common/base/hmac.h"

namespace odyssey::mcp {
namespace {

constexpr size_t kMacDigits = 64;
constexpr char kDigits[] = "0123456789abcdef";

std::string HexOf(std::string_view bytes) {
  std::string out;
  out.reserve(2 * bytes.size());
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    out.push_back(kDigits[value >> 4]);
    out.push_back(kDigits[value & 0xf]);
  }
  return out;
}

int ValueOf(char digit) {
  const char* const found = static_cast<const char*>(memchr(kDigits, digit, 16));
  return found == nullptr ? -1 : static_cast<int>(found - kDigits);
}

// Of what this process has written: digits in pairs.
std::string BytesOf(std::string_view hex) {
  std::string out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<char>(ValueOf(hex[i]) * 16 + ValueOf(hex[i + 1])));
  }
  return out;
}

// In a time that does not depend on where they differ.
bool Equal(std::string_view one, std::string_view other) {
  if (one.size() != other.size()) return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < one.size(); ++i) {
    difference |= static_cast<unsigned char>(one[i]) ^ static_cast<unsigned char>(other[i]);
  }
  return difference == 0;
}

}  // namespace

RequestStates::RequestStates(std::string key) : key_(std::move(key)) {}
RequestStates::~RequestStates() { explicit_bzero(key_.data(), key_.size()); }

std::string RequestStates::Mac(std::string_view purpose, std::string_view text) const {
  // Sizes first: no other pair has the same bytes.
  return HmacSha256Hex(
      key_, std::to_string(purpose.size()) + ":" + std::string(purpose) + std::string(text));
}

std::string RequestStates::Seal(std::string_view purpose, const Json& content,
                                uint64_t expires_at_ms) const {
  const std::string text = HexOf(Json{{"until", expires_at_ms}, {"of", content}}.dump(
      -1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace));
  return Mac(purpose, text) + text;
}

Result<Json> RequestStates::Open(std::string_view purpose, const std::string& state,
                                 uint64_t now_ms) {
  std::erase_if(spent_, [&](const auto& each) { return each.second <= now_ms; });
  const std::string mac = state.substr(0, kMacDigits);
  const std::string text = state.size() < kMacDigits ? "" : state.substr(kMacDigits);
  if (!Equal(mac, Mac(purpose, text))) {
    return InvalidArgument(
        "requestState: it is not of this server, this caller and this call, or was changed; "
        "call again without it");
  }
  Json sealed = Json::parse(BytesOf(text));
  if (sealed["until"].get<uint64_t>() <= now_ms) {
    return FailedPrecondition("requestState: it has expired; call again without it");
  }
  if (spent_.count(mac) != 0) {
    return FailedPrecondition("requestState: it was used before; call again without it");
  }
  return std::move(sealed["of"]);
}

void RequestStates::Spend(const std::string& state) {
  const std::string text = BytesOf(std::string_view(state).substr(kMacDigits));
  spent_[state.substr(0, kMacDigits)] = Json::parse(text)["until"].get<uint64_t>();
}

}  // namespace odyssey::mcp
