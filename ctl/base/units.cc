#include "ctl/base/units.h"

#include <cstdio>
#include <limits>

namespace odyssey::ctl {
namespace {

constexpr uint64_t kMaxCpuMillis = 1024 * 1000;

struct Unit {
  std::string_view suffix;
  uint64_t factor;
};

// The digits at the start of `text`; fails when there are none or they overflow.
bool TakeDigits(std::string_view* text, uint64_t* value) {
  size_t n = 0;
  uint64_t v = 0;
  for (; n < text->size() && (*text)[n] >= '0' && (*text)[n] <= '9'; ++n) {
    const uint64_t digit = static_cast<uint64_t>((*text)[n] - '0');
    if (v > (std::numeric_limits<uint64_t>::max() - digit) / 10) return false;
    v = v * 10 + digit;
  }
  text->remove_prefix(n);
  *value = v;
  return n > 0;
}

Status Bad(std::string_view text, std::string_view allowed) {
  return InvalidArgument("\"" + std::string(text) + "\": expected " + std::string(allowed));
}

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

}  // namespace

Result<uint64_t> ParseSize(std::string_view text) {
  static constexpr std::string_view kAllowed = "a size of at least 1, such as 65536, 64k, 512m, 2g";
  static constexpr Unit kUnits[] = {{"", 1},           {"b", 1},          {"k", 1ull << 10},
                                    {"m", 1ull << 20}, {"g", 1ull << 30}, {"t", 1ull << 40}};
  std::string_view rest = text;
  uint64_t value = 0;
  if (!TakeDigits(&rest, &value) || value == 0) return Bad(text, kAllowed);

  std::string suffix = Lower(rest);
  if (suffix.size() == 3 && suffix.substr(1) == "ib") suffix.resize(1);
  if (suffix.size() == 2 && suffix[1] == 'b') suffix.resize(1);
  for (const Unit& unit : kUnits) {
    if (suffix != unit.suffix) continue;
    if (value > std::numeric_limits<uint64_t>::max() / unit.factor) return Bad(text, kAllowed);
    return value * unit.factor;
  }
  return Bad(text, kAllowed);
}

Result<uint32_t> ParseDurationMs(std::string_view text) {
  static constexpr std::string_view kAllowed =
      "a duration from 1ms to 1193h, such as 500ms, 60s, 5m, 2h (a bare number is seconds)";
  static constexpr Unit kUnits[] = {
      {"ms", 1}, {"s", 1000}, {"", 1000}, {"m", 60'000}, {"h", 3'600'000}};
  std::string_view rest = text;
  uint64_t value = 0;
  if (!TakeDigits(&rest, &value) || value == 0) return Bad(text, kAllowed);
  for (const Unit& unit : kUnits) {
    if (rest != unit.suffix) continue;
    if (value > std::numeric_limits<uint32_t>::max() / unit.factor) return Bad(text, kAllowed);
    return static_cast<uint32_t>(value * unit.factor);
  }
  return Bad(text, kAllowed);
}

Result<uint64_t> ParseAgeS(std::string_view text) {
  static constexpr std::string_view kAllowed =
      "an age from 1s to 36500d, such as 60s, 5m, 2h, 30d (a bare number is seconds)";
  static constexpr uint64_t kDay = 86'400;
  static constexpr uint64_t kMax = 36'500 * kDay;
  static constexpr Unit kUnits[] = {{"s", 1}, {"", 1}, {"m", 60}, {"h", 3600}, {"d", kDay}};
  std::string_view rest = text;
  uint64_t value = 0;
  if (!TakeDigits(&rest, &value) || value == 0) return Bad(text, kAllowed);
  for (const Unit& unit : kUnits) {
    if (rest != unit.suffix) continue;
    if (value > kMax / unit.factor) return Bad(text, kAllowed);
    return value * unit.factor;
  }
  return Bad(text, kAllowed);
}

Result<uint32_t> ParseCpus(std::string_view text) {
  static constexpr std::string_view kAllowed = "cores from 0.001 to 1024, such as 2, 1.5, 0.25";
  std::string_view rest = text;
  uint64_t whole = 0;
  if (!TakeDigits(&rest, &whole) || whole > 1024) return Bad(text, kAllowed);
  uint64_t millis = whole * 1000;
  if (!rest.empty()) {
    if (rest[0] != '.' || rest.size() < 2 || rest.size() > 4) return Bad(text, kAllowed);
    rest.remove_prefix(1);
    uint64_t scale = 1000;
    for (size_t i = 0; i < rest.size(); ++i) scale /= 10;
    uint64_t fraction = 0;
    if (!TakeDigits(&rest, &fraction) || !rest.empty()) return Bad(text, kAllowed);
    millis += fraction * scale;
  }
  if (millis == 0 || millis > kMaxCpuMillis) return Bad(text, kAllowed);
  return static_cast<uint32_t>(millis);
}

Result<uint64_t> ParseNumber(std::string_view text, uint64_t min, uint64_t max) {
  std::string_view rest = text;
  uint64_t value = 0;
  if (!TakeDigits(&rest, &value) || !rest.empty() || value < min || value > max) {
    return Bad(text, "a number from " + std::to_string(min) + " to " + std::to_string(max));
  }
  return value;
}

std::string FormatSize(uint64_t bytes) {
  static constexpr const char* kNames[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t unit = 0;
  double value = static_cast<double>(bytes);
  while (value >= 1024 && unit + 1 < std::size(kNames)) {
    value /= 1024;
    ++unit;
  }
  char buffer[32];
  const bool whole = value == static_cast<double>(static_cast<uint64_t>(value));
  snprintf(buffer, sizeof(buffer), whole ? "%.0f %s" : "%.1f %s", value, kNames[unit]);
  return buffer;
}

std::string FormatDurationMs(uint64_t ms) {
  char buffer[48];
  if (ms < 1000) {
    snprintf(buffer, sizeof(buffer), "%u ms", static_cast<unsigned>(ms));
  } else if (ms < 60'000) {
    snprintf(buffer, sizeof(buffer), "%.1f s", static_cast<double>(ms) / 1000.0);
  } else {
    const unsigned long long seconds = ms / 1000;
    snprintf(buffer, sizeof(buffer), "%llu m %02llu s", seconds / 60, seconds % 60);
  }
  return buffer;
}

std::string FormatDurationUsec(uint64_t usec) {
  if (usec >= 1'000'000) return FormatDurationMs(usec / 1000);
  char buffer[32];
  snprintf(buffer, sizeof(buffer), "%.2f ms", static_cast<double>(usec) / 1000.0);
  return buffer;
}

}  // namespace odyssey::ctl
