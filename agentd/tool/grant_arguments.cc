#include "agentd/tool/grant_arguments.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "common/base/refusal.h"
#include "policy/dialect/path_text.h"
#include "policy/egress/reach.h"
#include "policy/model/policy_keys.h"

namespace odyssey::tools {
namespace {

namespace sup = ::odyssey::supervisor::v1;
using agent::v1::Grant;
using Json = nlohmann::json;

constexpr char kLimit[] = "limit";
constexpr char kValue[] = "value";
constexpr char kOneOf[] =
    "give one of mount_read, mount_write, executable, network, or limit with its value";

// What is granted by a name of its own.
struct NamedKey {
  sup::GrantKey key;
  const char* argument;
};
constexpr NamedKey kNamedKeys[] = {{sup::GRANT_KEY_MOUNT_READ, "mount_read"},
                                   {sup::GRANT_KEY_MOUNT_WRITE, "mount_write"},
                                   {sup::GRANT_KEY_EXECUTABLE, "executable"},
                                   {sup::GRANT_KEY_NETWORK_ENDPOINT, "network"}};

const char* ArgumentOf(sup::GrantKey key) {
  for (const NamedKey& named : kNamedKeys) {
    if (named.key == key) return named.argument;
  }
  return kLimit;
}

bool IsGrantable(const policy::LimitKey& key) { return key.scope != policy::Scope::kDisk; }

// Null: there is none of this name that can be granted.
const policy::LimitKey* FindLimit(const std::string& name) {
  for (const policy::LimitKey& key : policy::kLimitKeys) {
    if (key.name == name && IsGrantable(key)) return &key;
  }
  return nullptr;
}

std::string LimitNames() {
  std::string out;
  for (const policy::LimitKey& key : policy::kLimitKeys) {
    if (IsGrantable(key)) out += (out.empty() ? "" : ", ") + std::string(key.name);
  }
  return out;
}

Status CheckText(const std::string& field, sup::GrantKey key, const std::string& text) {
  const auto refuse = [&](const std::string& why) {
    return Refused(Code::kInvalidArgument, field, text.substr(0, kMaxGrantBytes), why);
  };
  if (text.size() > kMaxGrantBytes) {
    return refuse("at most " + std::to_string(kMaxGrantBytes) + " bytes are allowed");
  }
  if (text.find('\0') != std::string::npos) return refuse("a NUL byte is not allowed");
  if (key == sup::GRANT_KEY_NETWORK_ENDPOINT) {
    const Result<egress::Destination> to = egress::ParseReachable(text);
    return to.ok() ? OkStatus() : refuse(to.status().message());
  }
  const bool is_path = !text.empty() && text[0] == '/' && dialect::CleanPath(text) == text;
  const bool is_name = !text.empty() && text.find('/') == std::string::npos;
  if (is_path || (is_name && key == sup::GRANT_KEY_EXECUTABLE)) return OkStatus();
  return refuse(key == sup::GRANT_KEY_EXECUTABLE
                    ? "a name, or a normalised absolute path, is allowed"
                    : "a normalised absolute path of the host is allowed");
}

Result<Grant> ParseLimit(const std::string& where, const std::string& name, uint64_t value) {
  const policy::LimitKey* const key = FindLimit(name);
  if (key == nullptr) {
    return Refused(Code::kInvalidArgument, where + "." + kLimit, name,
                   "allowed are " + LimitNames());
  }
  if (value < key->least || value > key->most) {
    return Refused(Code::kInvalidArgument, where + "." + kValue, std::to_string(value),
                   name + " takes " + std::to_string(key->least) + " to " +
                       std::to_string(key->most) + " " + std::string(key->member.unit));
  }
  Grant out;
  out.set_key(sup::GRANT_KEY_LIMIT);
  out.set_limit(name);
  out.set_value(std::to_string(value));
  return out;
}

Result<Grant> ParseOne(const std::string& where, const Arguments& item) {
  std::vector<Grant> found;
  for (const NamedKey& named : kNamedKeys) {
    if (!item.Has(named.argument)) continue;
    const std::string text = item.String(named.argument);
    ODY_RETURN_IF_ERROR(CheckText(where + "." + named.argument, named.key, text));
    found.emplace_back().set_key(named.key);
    found.back().set_value(text);
  }
  if (item.Has(kLimit) != item.Has(kValue)) return InvalidArgument(where + ": " + kOneOf);
  if (item.Has(kLimit)) {
    ODY_ASSIGN_OR_RETURN(Grant limit, ParseLimit(where, item.String(kLimit), item.Count(kValue)));
    found.push_back(std::move(limit));
  }
  if (found.size() != 1) return InvalidArgument(where + ": " + kOneOf);
  return std::move(found.front());
}

}  // namespace

Result<GrantRequest> ParseGrants(const Arguments& given) {
  const std::vector<Arguments> items = given.List(policy::kGrantsArgument);
  GrantRequest out;
  out.reason = given.String(policy::kGrantReason);
  if (items.size() > kMaxGrants) {
    return InvalidArgument("grants: " + std::to_string(items.size()) + " elements; at most " +
                           std::to_string(kMaxGrants));
  }
  if (out.reason.size() > kMaxGrantReasonBytes) {
    return InvalidArgument("reason: " + std::to_string(out.reason.size()) + " bytes; at most " +
                           std::to_string(kMaxGrantReasonBytes));
  }
  if (items.empty() && !out.reason.empty()) {
    return InvalidArgument("reason: without grants nothing is asked for");
  }
  for (size_t i = 0; i < items.size(); ++i) {
    ODY_ASSIGN_OR_RETURN(*out.grants.add_grants(),
                         ParseOne("grants[" + std::to_string(i) + "]", items[i]));
  }
  return out;
}

bool IsGrantable(const Grant& grant) {
  if (grant.key() == sup::GRANT_KEY_LIMIT) return FindLimit(grant.limit()) != nullptr;
  return std::any_of(std::begin(kNamedKeys), std::end(kNamedKeys),
                     [&](const NamedKey& named) { return named.key == grant.key(); });
}

Json GrantArgument(const Grant& grant) {
  if (grant.key() != sup::GRANT_KEY_LIMIT) return {{ArgumentOf(grant.key()), grant.value()}};
  uint64_t value = 0;
  const std::string& text = grant.value();
  (void)std::from_chars(text.data(), text.data() + text.size(), value);
  return {{kLimit, grant.limit()}, {kValue, value}};
}

std::string GrantText(const Grant& grant) {
  const bool limit = grant.key() == sup::GRANT_KEY_LIMIT;
  return (limit ? grant.limit() : ArgumentOf(grant.key())) + " " + grant.value();
}

std::string GrantedPlace(const Grant& grant) {
  const bool write = grant.key() == sup::GRANT_KEY_MOUNT_WRITE;
  const std::string place = std::string("/workspace/mount/") + (write ? "write" : "read") + "/abs";
  return grant.value() == "/" ? place : place + grant.value();
}

}  // namespace odyssey::tools
