#include "supervisor/egress/websocket/handshake.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <vector>

#include "common/base/status.h"

namespace odyssey::egress::websocket {
namespace {

constexpr char kKey[] = "sec-websocket-key", kAccept[] = "sec-websocket-accept",
               kVersion[] = "sec-websocket-version", kProtocol[] = "sec-websocket-protocol",
               kExtensions[] = "sec-websocket-extensions";
constexpr char kGuid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";  // of RFC 6455 section 1.3
constexpr size_t kKeyCharacters = 22;                             // and two of padding

bool IsBase64(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
         c == '/';
}

// 16 bytes. The last character has 2 of their bits, and 4 that are no matter.
bool IsKey(std::string_view text) {
  return text.size() == kKeyCharacters + 2 && text.substr(kKeyCharacters) == "==" &&
         std::all_of(text.begin(), text.begin() + kKeyCharacters, IsBase64);
}

// Its one value, "" if there is none or more than one.
std::string_view OneValue(const http::Fields& fields, std::string_view name) {
  if (http::CountFields(fields, name) != 1) return {};
  return http::FindField(fields, name)->value;
}

}  // namespace

std::string AcceptOf(std::string_view key) {
  const std::string text = std::string(key) + kGuid;
  std::array<unsigned char, EVP_MAX_MD_SIZE> hash = {};
  unsigned int size = 0;
  ODY_CHECK(EVP_Digest(text.data(), text.size(), hash.data(), &size, EVP_sha1(), nullptr) == 1);
  std::array<unsigned char, 4 * ((EVP_MAX_MD_SIZE + 2) / 3) + 1> base64 = {};
  const int length = EVP_EncodeBlock(base64.data(), hash.data(), static_cast<int>(size));
  return {reinterpret_cast<const char*>(base64.data()), static_cast<size_t>(length)};
}

std::string_view CheckRequest(const http::Fields& request) {
  if (!IsKey(OneValue(request, kKey))) return "Sec-WebSocket-Key is not 16 bytes in base64";
  if (OneValue(request, kVersion) != "13") return "Sec-WebSocket-Version is not 13";
  return {};
}

std::string_view CheckAnswer(const http::Fields& request, const http::Fields& answer) {
  if (OneValue(answer, kAccept) != AcceptOf(OneValue(request, kKey))) {
    return "Sec-WebSocket-Accept is not the key's";
  }
  if (http::CountFields(answer, kExtensions) != 0) return "an extension that was not offered";
  if (http::CountFields(answer, kProtocol) == 0) return {};
  const std::string_view chosen = OneValue(answer, kProtocol);
  const std::vector<std::string> offered = http::ListMembers(request, kProtocol);
  const bool known = std::any_of(offered.begin(), offered.end(),
                                 [&](const std::string& name) { return name == chosen; });
  return known ? std::string_view() : "Sec-WebSocket-Protocol is none that was offered";
}

}  // namespace odyssey::egress::websocket
