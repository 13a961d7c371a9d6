#include "agentd/base/json_text.h"

#include <nlohmann/json.hpp>

namespace odyssey::agent {
namespace {

using Json = nlohmann::json;

std::string Print(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

Result<std::string> CanonicalObject(std::string_view text) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return std::string("{}");
  bool too_deep = false;
  const Json json = Json::parse(
      text,
      [&](int depth, Json::parse_event_t, Json&) {
        too_deep = too_deep || depth > kMaxJsonDepth;
        return depth <= kMaxJsonDepth;
      },
      /*allow_exceptions=*/false);
  if (too_deep) {
    return InvalidArgument("nested deeper than " + std::to_string(kMaxJsonDepth) + " levels");
  }
  if (!json.is_object()) return InvalidArgument("not a JSON object");
  return Print(json);
}

std::string JsonString(std::string_view text) { return Print(Json(std::string(text))); }

std::string ErrorObject(std::string_view message) {
  return Print(Json{{"error", std::string(message)}});
}

}  // namespace odyssey::agent
