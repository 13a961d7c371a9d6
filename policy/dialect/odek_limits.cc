#include "policy/dialect/odek_limits.h"

#include <charconv>
#include <string_view>

namespace odyssey::dialect::odek {
namespace {

constexpr uint64_t kMaxUser = 4294967294;
constexpr size_t kMaxDigits = 15;

std::optional<uint64_t> ParseDigits(std::string_view text) {
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || text.size() > kMaxDigits || error != std::errc() || stop != end) {
    return std::nullopt;
  }
  return value;
}

// WHOLE[.FRACTION] times `unit`, rounded down. At most three digits of the fraction count.
std::optional<uint64_t> ParseScaled(std::string_view text, uint64_t unit, uint64_t most) {
  const size_t dot = text.find('.');
  const std::optional<uint64_t> whole = ParseDigits(text.substr(0, dot));
  uint64_t thousandths = 0;
  if (dot != std::string_view::npos) {
    const std::string_view fraction = text.substr(dot + 1);
    if (!ParseDigits(fraction)) return std::nullopt;
    const std::string digits = (std::string(fraction) + "00").substr(0, 3);
    thousandths = *ParseDigits(digits);
  }
  if (!whole || *whole > most / unit) return std::nullopt;
  const uint64_t value = *whole * unit + thousandths * unit / 1000;
  if (value == 0 || value > most) return std::nullopt;
  return value;
}

// The shift of a unit: b, k, m, g, t, each also as "kb" or "kib"; no unit is bytes.
std::optional<int> ShiftOf(std::string unit) {
  for (char& c : unit) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  if (unit.empty() || unit == "b") return 0;
  static constexpr std::string_view kUnits = "kmgt";
  const size_t at = kUnits.find(unit[0]);
  const std::string_view rest = std::string_view(unit).substr(1);
  if (at == std::string_view::npos || (rest != "" && rest != "b" && rest != "ib")) {
    return std::nullopt;
  }
  return static_cast<int>(10 * (at + 1));
}

// A size in bytes.
std::optional<uint64_t> ParseSize(const std::string& text, uint64_t most) {
  const size_t end = text.find_last_of("0123456789") + 1;
  const std::optional<int> shift = ShiftOf(text.substr(end));
  if (!shift) return std::nullopt;
  return ParseScaled(std::string_view(text).substr(0, end), uint64_t{1} << *shift, most);
}

}  // namespace

std::optional<uint64_t> ParseLimit(const policy::LimitKey& key, const std::string& text) {
  switch (key.foreign.odek.format) {
    case policy::Format::kSize:
      return ParseSize(text, key.most);
    case policy::Format::kCores:
      return ParseScaled(text, 1000, key.most);
    case policy::Format::kWhole:
      return ParseScaled(text, 1, key.most);
    case policy::Format::kDuration:
      break;  // odek has none
  }
  return std::nullopt;
}

std::optional<uint32_t> ParseUser(const std::string& text) {
  const size_t colon = text.find(':');
  const std::optional<uint64_t> user = ParseDigits(text.substr(0, colon));
  if (!user || *user == 0 || *user > kMaxUser) return std::nullopt;
  if (colon != std::string::npos && ParseDigits(text.substr(colon + 1)) != user) {
    return std::nullopt;
  }
  return static_cast<uint32_t>(*user);
}

}  // namespace odyssey::dialect::odek
