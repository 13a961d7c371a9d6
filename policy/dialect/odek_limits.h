#ifndef ODYSSEY_POLICY_DIALECT_ODEK_LIMITS_H_
#define ODYSSEY_POLICY_DIALECT_ODEK_LIMITS_H_

// Sizes, cores and users as Docker spells them.

#include <cstdint>
#include <optional>
#include <string>

namespace odyssey::dialect::odek {

// "512m", "1.5g", "1048576": bytes; nullopt for anything else, for 0 and for more than 16 TiB.
std::optional<uint64_t> ParseMemory(const std::string& text);

// "0.5", "2": thousandths of a core, 1 to 4096 cores; nullopt for anything else.
std::optional<uint32_t> ParseCpus(const std::string& text);

// "1000" or "1000:1000", never root; nullopt for anything else.
std::optional<uint32_t> ParseUser(const std::string& text);

}  // namespace odyssey::dialect::odek

#endif  // ODYSSEY_POLICY_DIALECT_ODEK_LIMITS_H_
