#include "agentd/base/finding.h"

#include <nlohmann/json.hpp>

namespace odyssey::agent {

void to_json(nlohmann::json& out, const Finding& finding) {
  out = {{"kind", finding.kind},
         {"path", finding.path},
         {"host_path", finding.host_path},
         {"reason", finding.reason}};
}

void from_json(const nlohmann::json& in, Finding& finding) {
  in.at("kind").get_to(finding.kind);
  in.at("path").get_to(finding.path);
  in.at("host_path").get_to(finding.host_path);
  in.at("reason").get_to(finding.reason);
}

}  // namespace odyssey::agent
