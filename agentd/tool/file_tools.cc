#include "agentd/tool/file_tools.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "agentd/event/command_events.h"
#include "agentd/tool/arguments.h"
#include "agentd/tool/cell_path.h"
#include "agentd/tool/file_preview.h"
#include "agentd/tool/ignored_paths.h"
#include "agentd/tool/tool_denial.h"
#include "agentd/tool/tool_result.h"
#include "common/base/utf8.h"

namespace odyssey::tools {
namespace {

namespace pb = ::odyssey::supervisor::v1;
using Json = nlohmann::json;
using policy::ToolKind;

// The path, or the workspace where it may be left out.
std::string PathOf(const Arguments& given) {
  const std::string path = given.String("path");
  return path.empty() ? "." : path;
}

// What a tool does, beside what its row says.
struct Handler {
  std::string_view tool;
  // The operation on the path, but for its cell.
  void (*ask)(const Arguments&, const std::string& path, pb::FileOpRequest*);
  // The keys of the result beside `path`.
  Result<Json> (*answer)(const Arguments&, pb::FileOpResponse);
  // kWritesFile: the file's text after the call, from the text before, of which there is none if
  // there is no file. Nothing: the call would fail.
  std::optional<std::string> (*foresee)(const Arguments&, const std::optional<std::string>&);
};

// --- Read: {content}, and for a file longer than what is returned truncated, total_bytes and
// next_offset. UTF-8 only; at least one character, so that each part brings the next one nearer.
// ---

constexpr uint64_t kMaxCharacterBytes = 4;

void AskRead(const Arguments& given, const std::string& path, pb::FileOpRequest* out) {
  out->mutable_read()->set_path(path);
  out->mutable_read()->set_offset(given.Count("offset"));
  const uint64_t most = given.Count("max_bytes");
  out->mutable_read()->set_max_bytes(most == 0 ? 0 : std::max(most, kMaxCharacterBytes));
}

// The longest part of whole characters in `most` bytes, or the first character.
size_t WholeCharacters(std::string_view content, size_t most) {
  size_t out = 0;
  for (; out == 0 && most <= content.size(); ++most) {
    out = CompleteUtf8Prefix(content.substr(0, most));
  }
  return out == 0 ? content.size() : out;
}

Result<Json> AnswerRead(const Arguments& given, pb::FileOpResponse response) {
  pb::FileReadResult& read = *response.mutable_read();
  std::string content = std::move(*read.mutable_content());
  const uint64_t most = given.Count("max_bytes");
  const bool cut = most != 0 && most < content.size();
  // A cut inside a character: the next part begins with it.
  if (cut || read.truncated())
    content.resize(WholeCharacters(content, cut ? most : content.size()));
  if (!IsValidUtf8(content)) return Internal("stream did not contain valid UTF-8");
  Json result;
  if (cut || read.truncated()) {
    result["truncated"] = true;
    result["total_bytes"] = read.total_bytes();
    result["next_offset"] = given.Count("offset") + content.size();
  }
  result["content"] = std::move(content);
  return result;
}

// --- Write: {bytes} ---

void AskWrite(const Arguments& given, const std::string& path, pb::FileOpRequest* out) {
  out->mutable_write()->set_path(path);
  out->mutable_write()->set_content(given.String("content"));
}

Result<Json> AnswerWrite(const Arguments&, pb::FileOpResponse response) {
  return Json{{"bytes", response.write().bytes()}};
}

std::optional<std::string> ForeseeWrite(const Arguments& given, const std::optional<std::string>&) {
  return given.String("content");
}

// --- Edit: {edited}, and with replace_all replacements ---

void AskEdit(const Arguments& given, const std::string& path, pb::FileOpRequest* out) {
  out->mutable_edit()->set_path(path);
  out->mutable_edit()->set_old_text(given.String("old_text"));
  out->mutable_edit()->set_new_text(given.String("new_text"));
  out->mutable_edit()->set_replace_all(given.Boolean("replace_all"));
}

Result<Json> AnswerEdit(const Arguments& given, pb::FileOpResponse response) {
  Json result = {{"edited", true}};
  if (given.Boolean("replace_all")) result["replacements"] = response.edit().replacements();
  return result;
}

std::optional<std::string> ForeseeEdit(const Arguments& given,
                                       const std::optional<std::string>& before) {
  if (!before) return std::nullopt;
  return Replace(*before, given.String("old_text"), given.String("new_text"),
                 given.Boolean("replace_all"));
}

// --- MultiEdit: {edited, replacements} ---

void AskMultiEdit(const Arguments& given, const std::string& path, pb::FileOpRequest* out) {
  out->mutable_multi_edit()->set_path(path);
  for (const Arguments& edit : given.List("edits")) {
    pb::FileEditStep* added = out->mutable_multi_edit()->add_edits();
    added->set_old_text(edit.String("old_text"));
    added->set_new_text(edit.String("new_text"));
    added->set_replace_all(edit.Boolean("replace_all"));
  }
}

Result<Json> AnswerMultiEdit(const Arguments&, pb::FileOpResponse response) {
  return Json{{"edited", true}, {"replacements", response.multi_edit().replacements()}};
}

std::optional<std::string> ForeseeMultiEdit(const Arguments& given,
                                            const std::optional<std::string>& before) {
  std::optional<std::string> text = before;
  for (const Arguments& edit : given.List("edits")) {
    if (text) text = ForeseeEdit(edit, text);
  }
  return text;
}

// --- LS: {entries: [{name, path, type}]}, sorted by type, then name ---

void AskList(const Arguments&, const std::string& path, pb::FileOpRequest* out) {
  out->mutable_list()->set_path(path);
}

Result<Json> AnswerList(const Arguments&, pb::FileOpResponse response) {
  Json entries = Json::array();
  for (const pb::FileEntry& entry : response.list().entries()) {
    entries.push_back({{"name", entry.name()}, {"path", entry.path()}, {"type", entry.type()}});
  }
  Json result = {{"entries", std::move(entries)}};
  if (response.list().truncated()) result["truncated"] = true;
  return result;
}

constexpr auto kHandlers = std::to_array<Handler>({
    {"Edit", AskEdit, AnswerEdit, ForeseeEdit},
    {"LS", AskList, AnswerList, nullptr},
    {"MultiEdit", AskMultiEdit, AnswerMultiEdit, ForeseeMultiEdit},
    {"Read", AskRead, AnswerRead, nullptr},
    {"Write", AskWrite, AnswerWrite, ForeseeWrite},
});

// Null: there is none.
constexpr const Handler* FindHandler(std::string_view tool) {
  for (const Handler& handler : kHandlers) {
    if (handler.tool == tool) return &handler;
  }
  return nullptr;
}

// Each row of a file tool has a handler, which foresees what it writes, and each handler a row.
constexpr bool HandlersFitTheTable() {
  size_t file_tools = 0;
  for (const policy::ToolRow& row : policy::kTools) {
    if (row.kind != ToolKind::kReadsFile && row.kind != ToolKind::kWritesFile) continue;
    const Handler* handler = FindHandler(row.name);
    if (handler == nullptr) return false;
    if ((handler->foresee != nullptr) != (row.kind == ToolKind::kWritesFile)) return false;
    ++file_tools;
  }
  return file_tools == kHandlers.size();
}
static_assert(HandlersFitTheTable());

// What a failed file operation means: a result for the model, with what refused it, or the end of
// the turn.
Result<ToolResult> FromError(const Status& status, const Json& denials) {
  if (EndsTurn(status) || sandbox::LeadsTo(status)) return status;
  ToolResult result = Failure(status);
  if (denials.empty()) return result;
  Json with_denials = Json::parse(result.json);
  with_denials["denials"] = denials;
  result.json = with_denials.dump();
  return result;
}

// Read and LS see what Glob and Grep see. `given` is the path as the model named it.
Status LeaveOutIgnored(const std::string& path, const std::string& given, ToolContext& context,
                       pb::FileOpResponse* response) {
  const bool lists = response->has_list();
  if (context.ignored == nullptr || (!lists && !response->has_read())) return OkStatus();
  const auto ignored = [&](const std::string& name, bool directory) {
    const auto kind = directory ? ignore::NodeKind::kDirectory : ignore::NodeKind::kOther;
    return context.ignored->Contains(context.cell_id, name, kind);
  };
  if (ignored(path, lists)) return IgnoredError(given);
  if (!lists) return OkStatus();
  auto& entries = *response->mutable_list()->mutable_entries();
  const auto left_out = std::remove_if(entries.begin(), entries.end(), [&](const auto& entry) {
    return ignored(entry.path(), entry.type() == "dir");
  });
  entries.erase(left_out, entries.end());
  return OkStatus();
}

class FileTool final : public Tool {
 public:
  FileTool(const policy::ToolRow& row, const Handler& handler) : row_(row), handler_(handler) {}

  model::ToolSpec Spec() const override {
    return {row_.name, row_.description, SchemaOf(row_.arguments)};
  }

  Result<rules::ToolCall> ForRules(const std::string& arguments_json) const override {
    ODY_ASSIGN_OR_RETURN(const Arguments given, Parse(arguments_json));
    const std::string subject = given.String(row_.subject);
    return rules::ToolCall{row_.name, "", {subject.empty() ? "." : subject}};
  }

  std::string Preview(const std::string& arguments_json,
                      const ToolContext& context) const override {
    const Result<Arguments> given = Parse(arguments_json);
    if (!given.ok() || row_.kind != ToolKind::kWritesFile) return "";
    const std::string path = UsedPath(PathOf(*given), context.leads_to, context.workspace);
    Result<std::optional<std::string>> before =
        ReadBefore(*context.sandbox, {context.cell_id, sandbox::Links::kRefuse}, path);
    if (!before.ok()) return "";
    std::optional<std::string> after = handler_.foresee(*given, *before);
    return after ? DiffOf(path, {*std::move(before), *std::move(after)}) : "";
  }

  Result<ToolResult> Run(const std::string& arguments_json, ToolContext& context) const override {
    ODY_ASSIGN_OR_RETURN(const Arguments given, Parse(arguments_json));
    Json denials = Json::array();
    sandbox::FilePlace place{
        context.cell_id, [&](const pb::Denial& denial) {
          denials.push_back(DenialForModel(denial));
          // A record that cannot be made is not the operation's to report.
          (void)context.emit(event::AccessIsDenied(context.turn_id, context.tool_call_id, denial));
        }};
    place.links = sandbox::Links::kRefuse;
    Result<Json> result = Act(given, place, context);
    if (!result.ok()) return FromError(result.status(), denials);
    (*result)["path"] = PathOf(given);
    return ToolResult{result->dump(-1, ' ', false, Json::error_handler_t::replace), true};
  }

 private:
  Result<Arguments> Parse(const std::string& arguments_json) const {
    return Arguments::Parse(row_.arguments, arguments_json);
  }

  Result<Json> Act(const Arguments& given, const sandbox::FilePlace& place,
                   ToolContext& context) const {
    const std::string path = UsedPath(PathOf(given), context.leads_to, context.workspace);
    pb::FileOpRequest request;
    handler_.ask(given, path, &request);
    ODY_ASSIGN_OR_RETURN(pb::FileOpResponse response,
                         context.sandbox->FileOp(place, std::move(request)));
    ODY_RETURN_IF_ERROR(LeaveOutIgnored(path, PathOf(given), context, &response));
    return handler_.answer(given, std::move(response));
  }

  const policy::ToolRow& row_;
  const Handler& handler_;
};

}  // namespace

std::unique_ptr<Tool> NewFileTool(const policy::ToolRow& row) {
  const Handler* handler = FindHandler(row.name);
  ODY_CHECK(handler != nullptr);
  return std::make_unique<FileTool>(row, *handler);
}

}  // namespace odyssey::tools
