#include "agentd/base/ids.h"

#include <sys/random.h>

#include <array>

#include "common/base/status.h"

namespace odyssey::agent {
namespace {

constexpr size_t kHexDigits = 32;
constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

std::string RandomIds::New(std::string_view prefix) {
  std::array<unsigned char, kHexDigits / 2> bytes;
  // Requests of up to 256 bytes are neither interrupted nor short (getrandom(2)).
  ODY_CHECK(getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  std::string id(prefix);
  id += '_';
  for (const unsigned char byte : bytes) {
    id += kDigits[byte >> 4];
    id += kDigits[byte & 15];
  }
  return id;
}

bool IsId(std::string_view prefix, std::string_view id) {
  return id.size() == prefix.size() + 1 + kHexDigits && id.substr(0, prefix.size()) == prefix &&
         id[prefix.size()] == '_' &&
         id.find_first_not_of(kDigits, prefix.size() + 1) == std::string_view::npos;
}

}  // namespace odyssey::agent
