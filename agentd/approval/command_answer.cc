#include "agentd/approval/command_answer.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "common/message/message_json.h"

namespace odyssey::approval {
namespace {

using message::Json;

std::optional<Decision> DecisionOf(std::string_view name) {
  for (const Decision decision : {Decision::kAllowOnce, Decision::kAllowAlways, Decision::kDeny}) {
    if (name == DecisionName(decision)) return decision;
  }
  return std::nullopt;
}

}  // namespace

std::string QuestionLine(const Question& question) {
  return message::ToJson(question).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Answer> ParseCommandAnswer(std::string_view output) {
  if (output.size() > kMaxCommandAnswer) {
    return InvalidArgument("answer: more than " + std::to_string(kMaxCommandAnswer) + " bytes");
  }
  const Json json = Json::parse(output, nullptr, false);
  if (!json.is_object()) return InvalidArgument("answer: no JSON object");
  Answer out;
  std::optional<Decision> decision;
  for (const auto& [name, value] : json.items()) {
    if (!value.is_string()) return InvalidArgument("answer: a member is no string");
    const std::string& text = value.get_ref<const std::string&>();
    if (name == "decision") {
      decision = DecisionOf(text);
    } else if (name == "note") {
      out.note = text;
    } else {
      return InvalidArgument("answer: has a member besides decision and note");
    }
  }
  if (!decision) return InvalidArgument("answer: decision is allow_once, allow_always or deny");
  out.decision = *decision;
  return out;
}

}  // namespace odyssey::approval
