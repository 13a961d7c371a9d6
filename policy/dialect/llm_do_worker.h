#ifndef ODYSSEY_POLICY_DIALECT_LLM_DO_WORKER_H_
#define ODYSSEY_POLICY_DIALECT_LLM_DO_WORKER_H_

// The definition of an llm-do worker as values: its sandbox, and what it says of approvals,
// attachments and delegation.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policy/dialect/attachment_policy.h"
#include "policy/dialect/origin.h"
#include "policy/model/request.h"

namespace odyssey::dialect::llm_do {

struct Path {
  std::string name;   // one path component
  std::string root;   // as written
  std::string place;  // where that is on this host, once a request is made of it
  policy::Access access = policy::Access::kReadOnly;
  std::vector<std::string> suffixes;  // lower case; empty: any
  uint64_t max_file_bytes = 0;        // 0: no bound
  bool write_approval = true;
  bool read_approval = false;
  int line = 0;
  std::string key;  // of the root
};

// First match wins.
struct ShellRule {
  std::string pattern;             // as written
  std::vector<std::string> words;  // of the pattern
  std::vector<std::string> paths;  // names of Path; empty: arguments are not looked at
  bool approval_required = true;
  bool grants_network = false;  // for one command, once approved
};

struct Worker {
  std::string name;
  std::vector<Path> paths;
  bool network = false;
  Origins origins;  // of the network, and of "shell_rules[0]", …
  std::optional<bool> require_os_sandbox;
  std::optional<AttachmentPolicy> attachments;
  std::map<std::string, bool> tool_approval;  // tool → asks
  std::vector<ShellRule> shell_rules;
  std::optional<bool> shell_default;  // asks; nullopt: a command without a rule is refused
  std::optional<std::vector<std::string>> allow_workers;
};

}  // namespace odyssey::dialect::llm_do

#endif  // ODYSSEY_POLICY_DIALECT_LLM_DO_WORKER_H_
