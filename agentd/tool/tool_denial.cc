#include "agentd/tool/tool_denial.h"

#include <nlohmann/json.hpp>

#include "common/message/message_json.h"

namespace odyssey::tools {

nlohmann::json DenialForModel(const supervisor::v1::Denial& denial) {
  nlohmann::json out = nlohmann::json::object();
  const message::Json all = message::ToJson(denial);
  for (const auto& [name, value] : all.items()) {
    const bool says_nothing =
        value == "" || value == false || (name == "count" && denial.count() <= 1);
    if (!says_nothing) out[name] = value;
  }
  return out;
}

}  // namespace odyssey::tools
