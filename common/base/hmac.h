#ifndef ODYSSEY_COMMON_BASE_HMAC_H_
#define ODYSSEY_COMMON_BASE_HMAC_H_

#include <string>
#include <string_view>

namespace odyssey {

// HMAC (RFC 2104) with SHA-256, as 64 hex digits.
std::string HmacSha256Hex(std::string_view key, std::string_view message);

}  // namespace odyssey

#endif  // ODYSSEY_COMMON_BASE_HMAC_H_
