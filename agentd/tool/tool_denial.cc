#include "agentd/tool/tool_denial.h"

#include <nlohmann/json.hpp>

#include "agentd/tool/grant_arguments.h"
#include "common/message/message_json.h"

namespace odyssey::tools {
namespace {

namespace sup = ::odyssey::supervisor::v1;

// How the model asks for what would allow it; "" where no person can.
std::string HowToAsk(const sup::Denial& denial) {
  agent::v1::Grant grant;
  grant.set_key(denial.grant_key());
  grant.set_value(denial.grant_value());
  std::string then;
  switch (denial.grant_key()) {
    case sup::GRANT_KEY_MOUNT_READ:
    case sup::GRANT_KEY_MOUNT_WRITE:
      then = "; it is then at " + GrantedPlace(grant) + "; a directory above it can be named too";
      break;
    case sup::GRANT_KEY_EXECUTABLE:
    case sup::GRANT_KEY_NETWORK_ENDPOINT:
      break;
    case sup::GRANT_KEY_LIMIT:
      grant.set_limit(denial.resource());
      break;
    default:
      return "";
  }
  if (!IsGrantable(grant)) return "";
  return "call Bash again with \"grants\": [" +
         GrantArgument(grant).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
         "] and a \"reason\": a person is asked" + then;
}

}  // namespace

nlohmann::json DenialForModel(const supervisor::v1::Denial& denial) {
  nlohmann::json out = nlohmann::json::object();
  const message::Json all = message::ToJson(denial);
  for (const auto& [name, value] : all.items()) {
    const bool says_nothing =
        value == "" || value == false || (name == "count" && denial.count() <= 1);
    if (!says_nothing) out[name] = value;
  }
  const std::string ask = HowToAsk(denial);
  if (!ask.empty()) out["ask"] = ask;
  return out;
}

}  // namespace odyssey::tools
