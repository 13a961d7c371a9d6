#include "ctl/acp/acp_prompt.h"

#include <string_view>

namespace odyssey::ctl {
namespace {

// A member's text; "" if there is none.
std::string TextOf(const Json& object, const char* name) {
  if (!object.is_object()) return "";
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

Result<std::string> PromptText(const Json& blocks) {
  if (!blocks.is_array()) return InvalidArgument("prompt: expected a list of content blocks");
  std::string text;
  std::string embedded;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const Json& block = blocks[i];
    const std::string type = TextOf(block, "type");
    const std::string where = "prompt[" + std::to_string(i) + "]";
    if (type == "text") {
      text += TextOf(block, "text");
    } else if (type == "resource_link") {
      text += TextOf(block, "uri");
    } else if (type == "resource") {
      const Json resource = block.value("resource", Json());
      if (!resource.is_object() || !resource.contains("text")) {
        return InvalidArgument(where + ".resource: expected one with a text");
      }
      text += TextOf(resource, "uri");
      embedded += "\n\n" + TextOf(resource, "uri") + ":\n" + TextOf(resource, "text");
    } else {
      return InvalidArgument(where + ".type \"" + type +
                             "\": expected text, resource_link or resource");
    }
  }
  if (text.empty()) return InvalidArgument("prompt: expected a text");
  return text + embedded;
}

Answered AnswerOf(const agent::v1::PermissionRequested& request, const RpcResponse& response) {
  const Answered denied = {.decision = agent::v1::DECISION_DENY};
  if (response.error || !response.result.is_object()) return denied;
  const Json outcome = response.result.value("outcome", Json());
  if (TextOf(outcome, "outcome") != "selected") return denied;
  const std::string option = TextOf(outcome, "optionId");
  if (option == "allow_once") return {.decision = agent::v1::DECISION_ALLOW_ONCE};
  if (option == "allow_session" && request.has_grants()) {
    return {.decision = agent::v1::DECISION_ALLOW_ONCE,
            .grant_scope = agent::v1::GRANT_SCOPE_SESSION};
  }
  if (option == "allow_always" && !request.has_grants() && !request.scope().empty()) {
    return {.decision = agent::v1::DECISION_ALLOW_ALWAYS};
  }
  return denied;
}

}  // namespace odyssey::ctl
