#include "supervisor/wire/cell_wire.h"

#include <stdio.h>

#include <charconv>

namespace odyssey::cell {
namespace {

// Every message: this byte, the type, the fields. Both ends come from one build.
constexpr uint8_t kVersion = 1;
constexpr uint8_t kAllRights = kRead | kWrite | kExecute | kIfThere;

constexpr std::string_view kRunPrefix = "run_";
constexpr size_t kRunDigits = 16;

bool HasNul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

// argv or env: what execve would cut at a NUL is refused instead.
size_t TotalBytes(const std::vector<std::string>& strings, bool* has_nul) {
  size_t total = 0;
  for (const std::string& s : strings) {
    total += s.size() + 1;
    *has_nul = *has_nul || HasNul(s);
  }
  return total;
}

}  // namespace

std::string RunName(uint64_t run) {
  char digits[kRunDigits + 1];
  snprintf(digits, sizeof(digits), "%016llx", static_cast<unsigned long long>(run));
  return std::string(kRunPrefix) + digits;
}

uint64_t RunNumber(std::string_view name) {
  if (name.size() != kRunPrefix.size() + kRunDigits) return 0;
  const std::string_view digits = name.substr(kRunPrefix.size());
  uint64_t run = 0;
  (void)std::from_chars(digits.data(), digits.data() + digits.size(), run, 16);
  return RunName(run) == name ? run : 0;
}

std::string SpareRunName(uint32_t number) { return ".next-" + std::to_string(number); }

Result<MessageType> TypeOf(std::string_view bytes) {
  Reader in(bytes);
  const uint8_t version = in.U8();
  const uint8_t type = in.U8();
  if (in.failed() || version != kVersion || type < static_cast<uint8_t>(MessageType::kHello) ||
      type > static_cast<uint8_t>(MessageType::kIdentity)) {
    return InvalidArgument("decode cell message: version " + std::to_string(version) + ", type " +
                           std::to_string(type) + " is none of ours");
  }
  return static_cast<MessageType>(type);
}

Status Malformed(MessageType type, const char* what) {
  return InvalidArgument("decode cell message of type " + std::to_string(static_cast<int>(type)) +
                         ": " + what);
}

Status Check(const Configure& m) {
  for (const LandlockRule& rule : m.rules) {
    if (rule.path.empty() || rule.path[0] != '/' || HasNul(rule.path) ||
        (rule.rights & ~kIfThere) == 0 || (rule.rights & ~kAllRights) != 0) {
      return Malformed(MessageType::kConfigure, "malformed rules");
    }
  }
  return OkStatus();
}

Status Check(const ExecSpec& m) {
  bool has_nul = HasNul(m.cwd);
  const size_t total = TotalBytes(m.argv, &has_nul) + TotalBytes(m.env, &has_nul);
  if (m.argv.empty() || total > kMaxExecBytes)
    return Malformed(MessageType::kExecSpec, "malformed argv");
  const bool absolute = !m.cwd.empty() && m.cwd[0] == '/';
  return absolute && !has_nul ? OkStatus() : Malformed(MessageType::kExecSpec, "malformed cwd");
}

std::string EncodeEmpty(MessageType type) {
  return {static_cast<char>(kVersion), static_cast<char>(type)};
}

}  // namespace odyssey::cell
