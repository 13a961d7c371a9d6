#include "ctl/policy/option_words.h"

#include <charconv>
#include <iterator>
#include <utility>

#include "policy/model/policy_keys.h"
#include "policy/plan/plan_check.h"

namespace odyssey::ctl {
namespace {

constexpr std::string_view kPlain =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:@%,";

// As a shell takes it for one word.
std::string Word(const std::string& text) {
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string SizeText(uint64_t bytes) {
  constexpr std::pair<uint64_t, char> kUnits[] = {
      {uint64_t{1} << 40, 't'}, {uint64_t{1} << 30, 'g'}, {uint64_t{1} << 20, 'm'}};
  for (const auto& [unit, letter] : kUnits) {
    if (bytes % unit == 0) return std::to_string(bytes / unit) + letter;
  }
  return std::to_string(bytes);
}

std::string CoresText(uint64_t millis) {
  std::string part = std::to_string(1000 + millis % 1000).substr(1);
  part.erase(part.find_last_not_of('0') + 1);
  return std::to_string(millis / 1000) + (part.empty() ? "" : "." + part);
}

std::string DurationText(uint64_t ms) {
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + "s" : std::to_string(ms) + "ms";
}

std::string ValueAs(policy::Format format, uint64_t value) {
  switch (format) {
    case policy::Format::kSize:
      return SizeText(value);
    case policy::Format::kCores:
      return CoresText(value);
    case policy::Format::kDuration:
      return DurationText(value);
    case policy::Format::kWhole:
      break;
  }
  return std::to_string(value);
}

std::string InPolicyFile(const std::string& grant) {
  return grant.empty() ? "" : grant + " in a policy file (--policy FILE)";
}

std::string LimitWords(const supervisor::v1::Denial& denial) {
  const std::string& text = denial.grant_value();
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string option = LimitAsOption(denial.resource(), value);
  return option.empty() ? InPolicyFile(denial.grant()) : option;
}

// What lets a program run that the cell shows.
std::string ProgramWords(const supervisor::v1::Denial& denial, policy::ExecutablesMode mode) {
  const bool named = mode == policy::ExecutablesMode::kExplicit;
  const bool one = denial.grant_key() == supervisor::v1::GRANT_KEY_EXECUTABLE;
  if (named && one) return "--tool " + Word(denial.grant_value());
  const bool in_workspace = plan::IsWithin(denial.resource(), plan::kWorkspacePath);
  return in_workspace && mode == policy::ExecutablesMode::kStandard ? "--tools workspace"
                                                                    : "--tools all";
}

}  // namespace

std::string LimitAsOption(std::string_view field, uint64_t value) {
  for (const policy::LimitKey& key : policy::kLimitKeys) {
    if (key.name != field || key.option.name == policy::kNone) continue;
    return "--" + std::string(key.option.name) + " " + ValueAs(key.option.format, value);
  }
  return "";
}

std::string GrantAsOption(const supervisor::v1::Denial& denial, policy::ExecutablesMode mode) {
  switch (denial.grant_key()) {
    case supervisor::v1::GRANT_KEY_MOUNT_READ:
      return "--read " + Word(denial.grant_value());
    case supervisor::v1::GRANT_KEY_MOUNT_WRITE:
      return "--write " + Word(denial.grant_value());
    case supervisor::v1::GRANT_KEY_WORKSPACE_WRITE:
      return "--mode workspace_write";
    case supervisor::v1::GRANT_KEY_NETWORK_FULL:
      return "--network full";
    case supervisor::v1::GRANT_KEY_NETWORK_ENDPOINT:
      return "--reach " + Word(denial.grant_value());
    case supervisor::v1::GRANT_KEY_EXECUTABLE:
    case supervisor::v1::GRANT_KEY_EXECUTABLES_ALL:
      return ProgramWords(denial, mode);
    case supervisor::v1::GRANT_KEY_LIMIT:
      return LimitWords(denial);
    default:
      break;
  }
  return InPolicyFile(denial.grant());
}

}  // namespace odyssey::ctl
