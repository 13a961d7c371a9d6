#ifndef ODYSSEY_SUPERVISOR_EGRESS_CREDENTIALS_DIGEST_H_
#define ODYSSEY_SUPERVISOR_EGRESS_CREDENTIALS_DIGEST_H_

#include <string>
#include <string_view>

namespace odyssey::egress::credentials {

// 32 bytes each.
std::string Sha256(std::string_view bytes);
std::string HmacSha256(std::string_view key, std::string_view bytes);

// In lower case.
std::string HexOf(std::string_view bytes);

}  // namespace odyssey::egress::credentials

#endif  // ODYSSEY_SUPERVISOR_EGRESS_CREDENTIALS_DIGEST_H_
