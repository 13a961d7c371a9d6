#include "http/shape/event_message.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "common/base/refusal.h"
#include "common/base/utf8.h"
#include "common/message/event_json.h"
#include "http/shape/public_id.h"

namespace odyssey::shape {
namespace {

using agent::v1::Event;
using message::Json;

constexpr std::string_view kWriters[] = {"Write", "Edit", "MultiEdit"};

// What asks: {"type":"command","payload":{"argv":[…]}}, "path", or "tool" with the rule.
Json RequestOf(const agent::v1::PermissionRequested& asked, const Json& arguments) {
  const std::string& tool = asked.tool_name();
  const auto text_of = [&](const char* key) {
    const auto found = arguments.is_object() ? arguments.find(key) : arguments.end();
    return found != arguments.end() && found->is_string() ? found->get<std::string>() : "";
  };
  if (tool == "Bash" && !text_of("command").empty()) {
    return {{"type", "command"}, {"payload", {{"argv", {"sh", "-lc", text_of("command")}}}}};
  }
  if (!text_of("path").empty()) {
    const bool writes =
        std::find(std::begin(kWriters), std::end(kWriters), tool) != std::end(kWriters);
    return {{"type", "path"},
            {"payload", {{"path", text_of("path")}, {"mode", writes ? "write" : "read"}}}};
  }
  return {{"type", "tool"}, {"payload", {{"name", asked.rule()}}}};
}

}  // namespace

Json EventMessage(Event event) {
  MakePublic(&event);
  Json out = message::EventToJson(event);
  const auto typed = out.find("payload");
  if (typed == out.end()) return out;
  Json& payload = (*typed)["payload"];
  if (event.has_turn_started()) {
    payload["context"] = {{"cwd", nullptr},
                          {"model", nullptr},
                          {"sandbox_mode", event.turn_started().sandbox_mode()},
                          {"approval_policy", nullptr},
                          {"metadata", Json::object()}};
  } else if (event.has_permission_requested()) {
    payload["action"] = "ask";
    payload["request"] = RequestOf(event.permission_requested(), payload["arguments"]);
  }
  return out;
}

std::string EventFrame(std::string_view id, std::string_view data) {
  std::string out;
  if (!id.empty()) out.append("id: ").append(id).append("\n");
  // CR and LF each end a line in this format.
  for (size_t at = 0; at <= data.size();) {
    const size_t end = std::min(data.find_first_of("\r\n", at), data.size());
    out.append("data: ").append(data.substr(at, end - at)).append("\n");
    at = end + (data.substr(end, 2) == "\r\n" ? 2 : 1);
  }
  return out + "\n";
}

Result<uint64_t> ParseSequence(const std::string& field, std::string_view text) {
  uint64_t out = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error == std::errc() && stop == text.data() + text.size()) return out;
  return Refused(Code::kInvalidArgument, field, SanitizeUtf8(std::string(text)),
                 "must be the sequence number of an event");
}

}  // namespace odyssey::shape
