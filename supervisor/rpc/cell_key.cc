#include "supervisor/rpc/cell_key.h"

#include <stdio.h>
#include <sys/random.h>

#include <algorithm>

#include "common/base/sha256.h"

namespace odyssey::supervisor {
namespace {

constexpr size_t kMaxKeyPart = 128;
constexpr size_t kMaxReadablePart = 32;
constexpr size_t kDigestDigits = 12;

bool IsWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

Status CheckPart(const std::string& name, const std::string& value) {
  const bool plain =
      std::all_of(value.begin(), value.end(), [](char c) { return IsWord(c) || c == '.'; });
  if (!value.empty() && value.size() <= kMaxKeyPart && plain) return OkStatus();
  return InvalidArgument("key." + name + " \"" + value.substr(0, kMaxKeyPart) +
                         "\": give 1 to 128 characters of A-Z a-z 0-9 . _ -");
}

std::string Sanitize(const std::string& part) {
  std::string readable = part.substr(0, kMaxReadablePart);
  std::replace_if(
      readable.begin(), readable.end(), [](char c) { return !IsWord(c); }, '_');
  while (!readable.empty() && readable.back() == '_') readable.pop_back();
  if (readable.empty()) readable = "default";
  return readable + "-" + Sha256Hex(part).substr(0, kDigestDigits);
}

}  // namespace

Status CheckCellKey(const CellKey& key) {
  if (!key.session_id.empty()) ODY_RETURN_IF_ERROR(CheckPart("session_id", key.session_id));
  ODY_RETURN_IF_ERROR(CheckPart("agent_id", key.agent_id));
  ODY_RETURN_IF_ERROR(CheckPart("kind", key.kind));
  return CheckPart("component", key.component);
}

std::string CellTreeOf(const CellKey& key) {
  const std::string session = key.session_id.empty() ? "shared" : Sanitize(key.session_id);
  return Sanitize(key.kind) + "/" + Sanitize(key.agent_id) + "/" + session + "/" +
         Sanitize(key.component);
}

std::string RandomId(const char* prefix) {
  uint64_t bits = 0;
  ODY_CHECK(getrandom(&bits, sizeof(bits), 0) == sizeof(bits));
  char digits[17];
  snprintf(digits, sizeof(digits), "%016llx", static_cast<unsigned long long>(bits));
  return std::string(prefix) + digits;
}

}  // namespace odyssey::supervisor
