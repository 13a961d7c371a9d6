#include "agentd/base/denial_json.h"

#include <nlohmann/json.hpp>

namespace odyssey::agent {

void to_json(nlohmann::json& out, const Denial& denial) {
  out = {{"kind", denial.kind},      {"resource", denial.resource},
         {"access", denial.access},  {"rule", denial.rule},
         {"grant", denial.grant},    {"process", denial.process},
         {"source", denial.source},  {"exec_id", denial.exec_id},
         {"count", denial.count},    {"session_id", denial.session_id},
         {"verdict", denial.verdict}};
}

void from_json(const nlohmann::json& in, Denial& denial) {
  in.at("kind").get_to(denial.kind);
  in.at("resource").get_to(denial.resource);
  in.at("access").get_to(denial.access);
  in.at("rule").get_to(denial.rule);
  in.at("grant").get_to(denial.grant);
  in.at("process").get_to(denial.process);
  in.at("source").get_to(denial.source);
  in.at("exec_id").get_to(denial.exec_id);
  // Earlier journals do not have these.
  denial.count = in.value("count", uint64_t{1});
  denial.session_id = in.value("session_id", "");
  denial.verdict = in.value("verdict", "deny");
}

nlohmann::json DenialForModel(const Denial& denial) {
  nlohmann::json out = denial;
  for (auto field = out.begin(); field != out.end();) {
    const bool says_nothing = *field == "" || (field.key() == "count" && *field == 1);
    field = says_nothing ? out.erase(field) : std::next(field);
  }
  return out;
}

}  // namespace odyssey::agent
