#ifndef ODYSSEY_POLICY_DIALECT_MANIFEST_H_
#define ODYSSEY_POLICY_DIALECT_MANIFEST_H_

// The manifest in both of its forms: odyssey.bundle/v1 (JSON5, or the same keys as YAML), and the
// YAML form odyssey.ai/bundle.v1, which begins with apiVersion and may have several agents.

#include <string>
#include <vector>

#include "policy/dialect/bundle.h"
#include "policy/dialect/project_root.h"
#include "policy/dialect/schema.h"

namespace odyssey::dialect {

// An agent as the manifest names it.
struct AgentEntry {
  std::string id;  // "" = what its file says
  std::string path;
  Text place;
};

struct Manifest {
  Bundle bundle;       // without directory, readme text and agents
  AgentSpec defaults;  // executor and memory, for agents whose file has none
  std::vector<AgentEntry> agents;
  std::string abi;  // "" = not said
  Text readme;      // where the path stands
};

// Reports in the order of validation; what is wrong is left at its default.
Manifest ReadManifest(const Node& document, const Source& source, const ProjectRoot& root);

// One path component [A-Za-z0-9][A-Za-z0-9._-]{0,127}; `label` is "bundle id", "skill name", ….
Status CheckComponent(const std::string& label, const std::string& value);

// `{max_window: N}` or `{window_size: N}`, `max_tokens`, and of the kind that summarises
// `summary_tokens`. Reads `memory->kind`.
void ReadMemoryConfig(MapReader config, MemorySpec* memory);

}  // namespace odyssey::dialect

#endif  // ODYSSEY_POLICY_DIALECT_MANIFEST_H_
