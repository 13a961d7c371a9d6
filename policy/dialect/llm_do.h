#ifndef ODYSSEY_POLICY_DIALECT_LLM_DO_H_
#define ODYSSEY_POLICY_DIALECT_LLM_DO_H_

// The definition of an llm-do worker: its sandbox, and what it says of approvals, attachments and
// delegation.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policy/dialect/policy.h"
#include "policy/dialect/schema.h"

namespace odyssey::dialect::llm_do {

struct Path {
  std::string name;  // one path component
  std::string root;  // as written
  policy::Access access = policy::Access::kReadOnly;
  std::vector<std::string> suffixes;  // lower case; empty: any
  uint64_t max_file_bytes = 0;        // 0: no bound
  bool write_approval = true;
  bool read_approval = false;
  int line = 0;
  std::string key;  // of the root
};

struct Attachments {
  uint64_t max_count = 4;
  uint64_t max_total_bytes = 10'000'000;
  std::vector<std::string> allowed_suffixes;  // lower case
  std::vector<std::string> denied_suffixes;
};

// First match wins.
struct ShellRule {
  std::string pattern;
  std::vector<std::string> paths;  // names of Path; empty: arguments are not looked at
  bool approval_required = true;
  bool grants_network = false;  // for one command, once approved
};

struct Worker {
  std::string name;
  std::vector<Path> paths;
  bool network = false;
  Origins origins;  // of the network
  std::optional<bool> require_os_sandbox;
  std::optional<Attachments> attachments;
  std::map<std::string, bool> tool_approval;  // tool → asks
  std::vector<ShellRule> shell_rules;
  std::optional<bool> shell_default;  // asks; nullopt: a command without a rule is refused
  std::optional<std::vector<std::string>> allow_workers;
};

Worker ReadWorker(const Node& document, const Source& source);

// Named paths become mounts below /workspace/mount. A relative root begins at the workshop's
// directory; below there a missing root is to be made.
void AddRequest(const Worker& worker, const Source& source, const PolicyContext& context,
                Policy* out);

}  // namespace odyssey::dialect::llm_do

#endif  // ODYSSEY_POLICY_DIALECT_LLM_DO_H_
