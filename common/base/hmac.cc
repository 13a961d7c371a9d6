#include "common/base/hmac.h"

#include <string.h>

#include <array>

#include "common/base/sha256.h"

namespace odyssey {
namespace {

constexpr size_t kBlockBytes = 64;
constexpr unsigned char kInner = 0x36, kOuter = 0x5c;

using Block = std::array<char, kBlockBytes>;

int Nibble(char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; }

std::string BytesOf(const std::string& hex) {
  std::string out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<char>(Nibble(hex[i]) * 16 + Nibble(hex[i + 1])));
  }
  return out;
}

// The digest of the key's block, each byte of it with `mask`, and the message.
std::string Masked(Block block, unsigned char mask, std::string_view message) {
  for (char& byte : block) byte = static_cast<char>(static_cast<unsigned char>(byte) ^ mask);
  Sha256 hash;
  hash.Update({block.data(), block.size()});
  hash.Update(message);
  explicit_bzero(block.data(), block.size());
  return hash.Hex();
}

}  // namespace

std::string HmacSha256Hex(std::string_view key, std::string_view message) {
  Block block = {};
  if (key.size() > kBlockBytes) {
    BytesOf(Sha256Hex(key)).copy(block.data(), block.size());
  } else {
    key.copy(block.data(), block.size());
  }
  std::string out = Masked(block, kOuter, BytesOf(Masked(block, kInner, message)));
  explicit_bzero(block.data(), block.size());
  return out;
}

}  // namespace odyssey
