#ifndef ODYSSEY_POLICY_DIALECT_BUNDLE_H_
#define ODYSSEY_POLICY_DIALECT_BUNDLE_H_

// A bundle directory: its manifest, its README, its agents. Reading it checks everything that can
// be checked without a host policy; what the manifest asks of the sandbox is recorded, not granted.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "policy/dialect/attachment_policy.h"
#include "policy/dialect/mcp_server.h"
#include "policy/dialect/origin.h"
#include "policy/dialect/problem.h"
#include "policy/dialect/project_root.h"
#include "policy/model/budget.h"
#include "policy/model/default_limits.h"
#include "policy/model/request.h"

namespace odyssey::dialect {

inline constexpr size_t kMaxFileBytes = 1024 * 1024;  // of a manifest, an agent file, a README
inline constexpr size_t kMaxSkills = 256;
inline constexpr size_t kMaxAgents = 64;

// kDangerFullAccess: asked for by the manifest; ToRequest never grants it on that word alone.
enum class SandboxMode { kReadOnly, kWorkspaceWrite, kDangerFullAccess };

// The manifest's `sandbox`, as written.
struct SandboxSpec {
  SandboxMode mode = SandboxMode::kWorkspaceWrite;
  std::map<std::string, std::string> env;  // name in the cell → name of the host variable
  std::vector<std::string> exec;           // paths in the bundle, normalised
  std::vector<std::string> read_mounts;    // "." (the client's directory) or absolute, normalised
  std::vector<std::string> review_mounts;
  std::vector<std::string> write_mounts;
  policy::Network network = policy::Network::kNone;
  egress::NetworkPolicy egress;        // of network egress
  std::vector<std::string> providers;  // of credentials, by name
  policy::ExecutablesMode system_tools_mode = policy::ExecutablesMode::kExplicit;
  std::vector<std::string> system_tools;
  policy::Limits limits = policy::kManifestLimits;
  policy::Limits unsaid_limits = policy::kManifestLimits;  // as in SandboxRequest
  uint64_t output_bytes = 0;  // kept of stdout and of stderr, each, by a tool; 0: the default
  std::vector<std::string> protect;  // relative to a writable host tree, normalised
  policy::Protection protection = policy::Protection::kDefault;
  std::vector<std::string> deny;  // patterns of names in a host tree
  policy::Landlock landlock = policy::Landlock::kHardRequirement;
  uint32_t user = 0;  // inside; 0: the supervisor's default
  policy::ImageRoot image;
  policy::Writes writes = policy::Writes::kDirect;
  // Of what becomes a field of the request by itself; and of "exec[0]", "read_mounts[0]",
  // "write_mounts[0]".
  Origins origins;
  friend bool operator==(const SandboxSpec&, const SandboxSpec&) = default;
};

struct ModelSpec {
  std::string provider;
  std::string name;
  std::string config = "null";  // JSON text
  friend bool operator==(const ModelSpec&, const ModelSpec&) = default;
};

// Conversation memory: what of earlier turns the model is sent.
enum class MemoryKind { kSlidingWindow, kSummarizingWindow };

struct MemorySpec {
  MemoryKind kind = MemoryKind::kSlidingWindow;
  uint32_t max_window = 100;       // messages
  uint64_t max_tokens = 0;         // of these messages; 0: no bound
  uint64_t summary_tokens = 1000;  // of a summary, with kSummarizingWindow
  friend bool operator==(const MemorySpec&, const MemorySpec&) = default;
};

// Entries of policy/rules, checked.
struct ToolRuleSpec {
  std::vector<std::string> allow, ask, deny;
  std::map<std::string, std::string> risk;  // what a class of risk comes to: "install" → "ask"
  std::vector<std::string> require;  // of the bundle's tools only these; empty = all (see ToolsOf)
  friend bool operator==(const ToolRuleSpec&, const ToolRuleSpec&) = default;
};

// To which agents of the bundle an agent may hand work, and what one piece of work may use. What is
// left of the caller's own budget holds all the same.
struct DelegationSpec {
  std::vector<std::string> allow;  // ids of agents; "*": any
  policy::Budget budget;
  friend bool operator==(const DelegationSpec&, const DelegationSpec&) = default;
};

// One agent, effective: `executor` and `memory` come from the manifest in the JSON5 model, from the
// agent's own file in the bundle.v1 form.
struct AgentSpec {
  std::string id;
  std::string description;
  std::string prompt;
  ModelSpec model;
  ToolRuleSpec tools;
  std::string executor = "react";
  MemorySpec memory;
  DelegationSpec delegation;
  AttachmentPolicy attachments;  // that it may hand over, and receive
  std::string path;              // of its file, in the bundle
  Origins origins;  // of "model.provider", "model.name", "model.config", "tools.ask[0]", …
  friend bool operator==(const AgentSpec&, const AgentSpec&) = default;
};

struct Skill {
  std::string name;  // one path component
  std::string path;  // in the bundle, normalised
  friend bool operator==(const Skill&, const Skill&) = default;
};

// A SKILL.md of the bundle (skill_files.h).
struct SkillFile {
  std::string name;
  std::string description;  // one line; "" if it has none
  std::string path;         // in the bundle
  friend bool operator==(const SkillFile&, const SkillFile&) = default;
};

struct Bundle {
  std::string directory;      // as given to LoadBundle
  std::string manifest_path;  // directory/odyssey.bundle.…
  bool newer_form = false;    // odyssey.ai/bundle.v1
  std::string id;
  std::string version;
  std::string readme_path;  // in the bundle
  std::string readme;       // its text
  std::vector<Skill> skills;
  std::vector<SkillFile> skill_files;      // sorted by name
  std::vector<std::string> tools;          // names of policy::kTools; empty = all of them
  std::vector<McpServerSpec> mcp_servers;  // in the order of the manifest
  Origins origins;                         // of "tools[0]", "mcp_servers.NAME", …
  SandboxSpec sandbox;
  std::vector<AgentSpec> agents;  // at least one
  size_t default_agent = 0;       // index in `agents`
  friend bool operator==(const Bundle&, const Bundle&) = default;
};

// Reads DIR/odyssey.bundle.json5, or DIR/odyssey.bundle.yaml (or .yml), and what they name. Reads
// files, follows no symbolic link that leaves the directory. Errors as in ToStatus(Problems).
Result<Bundle> LoadBundle(const std::string& directory, const DirectoryOpener& open = nullptr);

// Everything of the bundle that says where it is written says it from its directory.
void NamePlacesInBundle(Bundle* bundle);

// Every problem of the bundle, in the order of validation; empty = LoadBundle succeeds. `bundle`,
// if not nullptr, is what of it could be read all the same.
Problems ValidateBundle(const std::string& directory, Bundle* bundle = nullptr,
                        const DirectoryOpener& open = nullptr);

// The agent named `agent_id`, or the default one for "". NOT_FOUND names the agents there are.
Result<AgentSpec> FindAgent(const Bundle& bundle, const std::string& agent_id);

// The agent whose file this is, however the path is written. Looks at files.
Result<AgentSpec> FindAgentOfFile(const Bundle& bundle, const std::string& path);

// The tools of the bundle that the agent may have, sorted: what rules::SelectTools starts from.
std::vector<std::string> ToolsOf(const Bundle& bundle, const AgentSpec& agent);

}  // namespace odyssey::dialect

#endif  // ODYSSEY_POLICY_DIALECT_BUNDLE_H_
