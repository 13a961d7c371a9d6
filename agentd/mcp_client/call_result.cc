#include "agentd/mcp_client/call_result.h"

#include <string>
#include <utility>

#include "agentd/base/json_text.h"
#include "common/base/utf8.h"

namespace odyssey::mcp_client {
namespace {

constexpr size_t kMaxOmitted = 16;
constexpr size_t kShownType = 80;

std::string TextOf(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string Dump(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The text of one item of the content; adds to `omitted` what has none.
std::string TextOfItem(const Json& item, Json* omitted) {
  const std::string type = TextOf(item, "type");
  if (type == "text") return TextOf(item, "text");
  if (type == "resource_link") return TextOf(item, "uri");
  if (type == "resource" && item.contains("resource") && item["resource"].is_object()) {
    const std::string text = TextOf(item["resource"], "text");
    if (!text.empty()) return text;
  }
  if (omitted->size() < kMaxOmitted) {
    omitted->push_back({{"type", type.substr(0, kShownType)},
                        {"mime_type", TextOf(item, "mimeType").substr(0, kShownType)}});
  }
  return "";
}

}  // namespace

tools::ToolResult ToToolResult(const Json& result, uint64_t most_bytes) {
  const auto refuse = [] {
    return tools::ToolResult{
        agent::ErrorObject("execution failed: tools/call: the server's answer has no content"),
        false};
  };
  if (!result.is_object()) return refuse();
  Json omitted = Json::array();
  std::string text;
  const auto content = result.find("content");
  const auto structured = result.find("structuredContent");
  const bool has_structured = structured != result.end() && structured->is_object();
  if (content == result.end() && !has_structured) return refuse();
  if (content != result.end()) {
    if (!content->is_array()) return refuse();
    for (const Json& item : *content) {
      const std::string one = item.is_object() ? TextOfItem(item, &omitted) : "";
      if (!one.empty()) text += (text.empty() ? "" : "\n") + one;
    }
  }
  std::string shown = text.substr(0, most_bytes);
  if (shown.size() < text.size()) shown.resize(CompleteUtf8Prefix(shown));
  const auto failed = result.find("isError");
  if (failed != result.end() && failed->is_boolean() && failed->get<bool>()) {
    const std::string why = shown.empty() && has_structured ? Dump(*structured) : shown;
    return {agent::ErrorObject(why.empty() ? "the tool failed, and says nothing of it" : why),
            false};
  }
  Json out = {{"content", shown}};
  if (shown.size() < text.size()) {
    out["truncated"] = true;
    out["total_bytes"] = text.size();
  }
  if (text.empty() && has_structured) {
    if (Dump(*structured).size() <= most_bytes) {
      out["structured"] = *structured;
    } else {
      omitted.push_back({{"type", "structured"}});
    }
  }
  if (!omitted.empty()) out["omitted"] = std::move(omitted);
  return {Dump(out), true};
}

}  // namespace odyssey::mcp_client
