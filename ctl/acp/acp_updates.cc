#include "ctl/acp/acp_updates.h"

#include <algorithm>

#include "ctl/base/sanitize.h"
#include "ctl/view/approval_view.h"
#include "ctl/view/denial_line.h"
#include "ctl/view/tool_text.h"
#include "policy/model/tool_table.h"

namespace odyssey::ctl {
namespace {

using agent::v1::Event;

constexpr size_t kTitleWidth = 200;
// Of the text of a call. The model's own result is in rawOutput.
constexpr size_t kMaxText = size_t{64} * 1024;

Json Text(std::string_view text) { return {{"type", "text"}, {"text", Sanitize(text)}}; }

// Clients render text as Markdown. What a model or a command wrote stays as it is, behind a fence
// longer than any that is in it.
Json Verbatim(std::string_view text) {
  size_t longest = 2;
  size_t run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  const std::string end = text.empty() || text.back() == '\n' ? "" : "\n";
  return {{"type", "content"}, {"content", Text(fence + "\n" + std::string(text) + end + fence)}};
}

Json Chunk(std::string_view kind, std::string_view text) {
  return {{"sessionUpdate", kind}, {"content", Text(text)}};
}

std::string_view KindOf(const std::string& tool) {
  const policy::ToolRow* row = policy::FindTool(tool);
  if (row == nullptr) return "other";
  switch (row->kind) {
    case policy::ToolKind::kCommand:
    case policy::ToolKind::kJob:
      return "execute";
    case policy::ToolKind::kSearches:
      return "search";
    case policy::ToolKind::kSkill:
    case policy::ToolKind::kReadsFile:
      return "read";
    case policy::ToolKind::kWritesFile:
      return "edit";
    case policy::ToolKind::kWorker:
      return "other";
  }
  return "other";
}

std::string TitleOf(const std::string& tool, const std::string& arguments_json) {
  const std::string subject = SummarizeCall(tool, arguments_json, kTitleWidth);
  return Sanitize(tool, Lines::kOne) + (subject.empty() ? "" : " " + subject);
}

std::string Member(const Json& object, const char* name) {
  if (!object.is_object()) return "";
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

Json ParseOrText(const std::string& json) {
  Json value = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  return value.is_discarded() ? Json(json) : value;
}

}  // namespace

std::string_view StopReasonOf(const agent::v1::TurnCompleted& completed) {
  if (completed.end_reason() == agent::v1::END_REASON_LENGTH) return "max_tokens";
  const bool refused = completed.end_reason() == agent::v1::END_REASON_FILTER ||
                       completed.end_reason() == agent::v1::END_REASON_REFUSAL;
  return refused ? "refusal" : "end_turn";
}

std::string AcpUpdates::HostPath(const std::string& cell_path) const {
  constexpr std::string_view kWorkspace = "/workspace/";
  std::string_view rest = cell_path;
  if (rest.substr(0, kWorkspace.size()) == kWorkspace) rest.remove_prefix(kWorkspace.size());
  for (const std::string_view mount : {"mount/read/", "mount/write/"}) {
    if (rest.substr(0, mount.size()) != mount) continue;
    rest.remove_prefix(mount.size());
    for (const auto& [name, root] :
         {std::pair<std::string_view, std::string>{"current", cwd_}, {"abs", ""}}) {
      if (rest.substr(0, name.size()) != name) continue;
      const std::string_view below = rest.substr(name.size());
      if (below.empty() || below[0] == '/') return root + std::string(below);
    }
  }
  return "";
}

Json AcpUpdates::Locations(const std::string& arguments_json) const {
  Json out = Json::array();
  const std::string path = HostPath(Member(ParseOrText(arguments_json), "path"));
  if (!path.empty()) out.push_back({{"path", path}});
  return out;
}

Json AcpUpdates::Diffs(const std::string& tool, const std::string& arguments_json) const {
  Json out = Json::array();
  const policy::ToolRow* row = policy::FindTool(tool);
  if (row == nullptr || row->kind != policy::ToolKind::kWritesFile) return out;
  const Json arguments = ParseOrText(arguments_json);
  const std::string in_cell = Member(arguments, "path");
  const std::string on_host = HostPath(in_cell);
  const std::string path = on_host.empty() ? in_cell : on_host;
  const auto add = [&](const Json& edit) {
    Json diff = {{"type", "diff"}, {"path", path}, {"newText", Member(edit, "new_text")}};
    if (edit.contains("old_text")) diff["oldText"] = Member(edit, "old_text");
    out.push_back(std::move(diff));
  };
  if (!arguments.is_object()) return out;
  if (arguments.contains("content")) {
    out.push_back({{"type", "diff"}, {"path", path}, {"newText", Member(arguments, "content")}});
  }
  if (arguments.contains("new_text")) add(arguments);
  if (const auto edits = arguments.find("edits"); edits != arguments.end() && edits->is_array()) {
    for (const Json& edit : *edits) {
      if (edit.is_object()) add(edit);
    }
  }
  return out;
}

Json AcpUpdates::Started(const agent::v1::ToolCallStarted& started) {
  current_ = started.tool_call_id();
  calls_[current_] = {started.tool_name(), started.arguments_json(), "", 0};
  streamed_ = false;
  return {{"sessionUpdate", "tool_call"},
          {"toolCallId", current_},
          {"title", TitleOf(started.tool_name(), started.arguments_json())},
          {"kind", KindOf(started.tool_name())},
          {"status", "in_progress"},
          {"content", Diffs(started.tool_name(), started.arguments_json())},
          {"locations", Locations(started.arguments_json())},
          {"rawInput", ParseOrText(started.arguments_json())}};
}

Json AcpUpdates::Finished(const agent::v1::ToolCallFinished& finished) {
  const Call call = std::move(calls_[finished.tool_call_id()]);
  calls_.erase(finished.tool_call_id());
  Json content = Diffs(call.tool, call.arguments_json);
  if (!call.text.empty()) content.push_back(Verbatim(call.text));
  const std::string summary =
      SummarizeResult(finished.result_json(), finished.success(), kTitleWidth);
  if (content.empty() || !finished.success()) {
    content.push_back(Verbatim(summary.empty() ? "done" : summary));
  }
  return {{"sessionUpdate", "tool_call_update"},
          {"toolCallId", finished.tool_call_id()},
          {"status", finished.success() ? "completed" : "failed"},
          {"content", std::move(content)},
          {"rawOutput", ParseOrText(finished.result_json())}};
}

std::vector<Json> AcpUpdates::Append(const std::string& tool_call_id, std::string_view text) {
  const auto found = calls_.find(tool_call_id);
  if (found == calls_.end()) return {};
  Call& call = found->second;
  if (call.text.size() >= kMaxText) return {};
  call.text += text;
  if (call.text.size() >= kMaxText) call.text += "\n… cut here; the result has more\n";
  // An update replaces the text: sent once it has grown by a quarter, all of them together are
  // at most five times the text.
  if (call.text.size() < call.sent + call.sent / 4) return {};
  call.sent = call.text.size();
  Json content = Diffs(call.tool, call.arguments_json);
  content.push_back(Verbatim(call.text));
  return {{{"sessionUpdate", "tool_call_update"},
           {"toolCallId", tool_call_id},
           {"content", std::move(content)}}};
}

std::vector<Json> AcpUpdates::Map(const Event& event, Prompts prompts) {
  switch (event.payload_case()) {
    case Event::kTurnStarted:
      streamed_ = false;
      if (prompts == Prompts::kHide) return {};
      return {Chunk("user_message_chunk", event.turn_started().prompt())};
    case Event::kAgentMessageDelta:
      streamed_ = true;
      return {Chunk("agent_message_chunk", event.agent_message_delta().delta())};
    case Event::kReasoningDelta:
      return {Chunk("agent_thought_chunk", event.reasoning_delta().delta())};
    case Event::kToolCallStarted:
      return {Started(event.tool_call_started())};
    case Event::kToolCallFinished:
      return {Finished(event.tool_call_finished())};
    case Event::kExecCommandBegin:
      // A job's output is read by calls of Job.
      if (event.exec_command_begin().job_id().empty()) {
        commands_[event.exec_command_begin().exec_id()] = current_;
      }
      return {};
    case Event::kExecCommandOutputDelta: {
      const auto& delta = event.exec_command_output_delta();
      const auto command = commands_.find(delta.exec_id());
      if (command == commands_.end()) return {};
      return Append(command->second, delta.delta());
    }
    case Event::kExecCommandEnd:
      commands_.erase(event.exec_command_end().exec_id());
      return {};
    case Event::kAccessDenied:
      return Append(event.access_denied().tool_call_id(),
                    DenialLine(event.access_denied().denial()) + "\n");
    case Event::kTurnCompleted:
      // A model that does not stream has said nothing yet.
      if (streamed_ || event.turn_completed().message().empty()) return {};
      return {Chunk("agent_message_chunk", event.turn_completed().message())};
    case Event::kEventsRemoved:
      return {Chunk("agent_thought_chunk",
                    "Events " + std::to_string(event.events_removed().first_sequence()) + " to " +
                        std::to_string(event.events_removed().last_sequence()) +
                        " are no longer kept (" + event.events_removed().reason() + ").")};
    default:
      return {};
  }
}

Json AcpUpdates::ToolCallOf(const agent::v1::PermissionRequested& request) const {
  const auto asks = [&](const auto& call) {
    return call.second.tool == request.tool_name() &&
           call.second.arguments_json == request.arguments_json();
  };
  const auto call = std::find_if(calls_.begin(), calls_.end(), asks);
  Json content = Diffs(request.tool_name(), request.arguments_json());
  content.push_back(Verbatim(FormatApproval(request, Extent::kWhole, /*color=*/false)));
  return {{"toolCallId", call == calls_.end() ? request.request_id() : call->first},
          {"title", TitleOf(request.tool_name(), request.arguments_json())},
          {"kind", KindOf(request.tool_name())},
          {"status", "pending"},
          {"content", std::move(content)},
          {"locations", Locations(request.arguments_json())},
          {"rawInput", ParseOrText(request.arguments_json())}};
}

Json AcpUpdates::OptionsOf(const agent::v1::PermissionRequested& request) {
  Json out = Json::array();
  const auto add = [&](const char* id, const std::string& name, const char* kind) {
    out.push_back({{"optionId", id}, {"name", name}, {"kind", kind}});
  };
  add("allow_once", "Allow once", "allow_once");
  if (request.has_grants()) {
    add("allow_session", "Allow, with its additions for this session", "allow_always");
  } else if (!request.scope().empty()) {
    add("allow_always", "Always allow in this session: " + SafeScope(request), "allow_always");
  }
  add("deny", "Deny", "reject_once");
  return out;
}

}  // namespace odyssey::ctl
