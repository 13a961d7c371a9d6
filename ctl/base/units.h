#ifndef ODYSSEY_CTL_BASE_UNITS_H_
#define ODYSSEY_CTL_BASE_UNITS_H_

// Quantities as people type them, and as they read them. Pure.

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace odyssey::ctl {

// Errors are INVALID_ARGUMENT and say the value and what is allowed; the caller adds the option.

// "4096", "64k", "512m", "2g", "1t" (powers of 1024; an upper-case letter and a final "b", "ib"
// too). At least 1.
Result<uint64_t> ParseSize(std::string_view text);

// "500ms", "60s", "5m", "2h"; a bare number is seconds. Milliseconds, at least 1, at most 2^32 - 1.
Result<uint32_t> ParseDurationMs(std::string_view text);

// "60s", "5m", "2h", "30d"; a bare number is seconds. Seconds, at least 1, at most 100 years.
Result<uint64_t> ParseAgeS(std::string_view text);

// "1.5", "2", "0.25": cores, at most three digits after the point, 0.001 to 1024. Thousandths.
Result<uint32_t> ParseCpus(std::string_view text);

// Digits only, min..max.
Result<uint64_t> ParseNumber(std::string_view text, uint64_t min, uint64_t max);

// "512 MiB", "1.5 GiB", "17 B".
std::string FormatSize(uint64_t bytes);

// "340 ms", "2.1 s", "3 m 05 s".
std::string FormatDurationMs(uint64_t ms);

// "0.34 ms", "12.05 ms"; of a second and more as above.
std::string FormatDurationUsec(uint64_t usec);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_BASE_UNITS_H_
