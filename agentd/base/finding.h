#ifndef ODYSSEY_AGENTD_BASE_FINDING_H_
#define ODYSSEY_AGENTD_BASE_FINDING_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace odyssey::agent {

// Something that a cell has made in a directory of the host. The fields are those of
// odyssey.supervisor.v1.Finding; `kind` is FindingKind's name without its prefix, in lower case.
struct Finding {
  std::string kind, path, host_path, reason;
  friend bool operator==(const Finding&, const Finding&) = default;
};

// Found by nlohmann::json through the type's namespace.
void to_json(nlohmann::json& out, const Finding& finding);
void from_json(const nlohmann::json& in, Finding& finding);

}  // namespace odyssey::agent

#endif  // ODYSSEY_AGENTD_BASE_FINDING_H_
