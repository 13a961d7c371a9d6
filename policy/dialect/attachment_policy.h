#ifndef ODYSSEY_POLICY_DIALECT_ATTACHMENT_POLICY_H_
#define ODYSSEY_POLICY_DIALECT_ATTACHMENT_POLICY_H_

// Which files one agent may hand to another, or receive: `attachments` of agent.yaml,
// `attachment_policy` of an llm-do worker.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policy/dialect/schema.h"

namespace odyssey::dialect {

struct AttachmentPolicy {
  uint64_t max_count = 4;
  uint64_t max_total_bytes = 10'000'000;
  std::vector<std::string> allowed_suffixes;  // lower case; empty: any
  std::vector<std::string> denied_suffixes;   // lower case
  friend bool operator==(const AttachmentPolicy&, const AttachmentPolicy&) = default;
};

// Reads and finishes the map; the defaults if it is absent.
AttachmentPolicy ReadAttachmentPolicy(MapReader map);

// A to Z become a to z, as in the suffixes of a policy.
std::string LowerCase(std::string text);

// A list of suffixes such as `.md`, in lower case.
std::vector<std::string> ReadSuffixes(MapReader* map, std::string_view name);

}  // namespace odyssey::dialect

#endif  // ODYSSEY_POLICY_DIALECT_ATTACHMENT_POLICY_H_
