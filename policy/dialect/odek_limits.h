#ifndef ODYSSEY_POLICY_DIALECT_ODEK_LIMITS_H_
#define ODYSSEY_POLICY_DIALECT_ODEK_LIMITS_H_

// Sizes, cores and users as Docker spells them.

#include <cstdint>
#include <optional>
#include <string>

#include "policy/model/policy_key.h"

namespace odyssey::dialect::odek {

// A size ("512m", "1.5g", "1048576") in bytes, cores ("0.5", "2") in thousandths, or a number, as
// the row is spelled; nullopt for anything else, for 0 and for more than its most.
std::optional<uint64_t> ParseLimit(const policy::LimitKey& key, const std::string& text);

// "1000" or "1000:1000", never root; nullopt for anything else.
std::optional<uint32_t> ParseUser(const std::string& text);

}  // namespace odyssey::dialect::odek

#endif  // ODYSSEY_POLICY_DIALECT_ODEK_LIMITS_H_
