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
#include "agentd/tool/file_preview.h"
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
  // The operation, but for its cell.
  void (*ask)(const Arguments&, pb::FileOpRequest*);
  // The keys of the result beside `path`.
  Result<Json> (*answer)(const Arguments&, pb::FileOpResponse);
  // kWritesFile: the file's text after the call, from the text before, of which there is none if
  // there is no file. Nothing: the call would fail.
  std::optional<std::string> (*foresee)(const Arguments&, const std::optional<std::string>&);
};

// --- Read: {content}, and for a file longer than what is returned truncated, total_bytes and
// next_offset. UTF-8 only. ---

void AskRead(const Arguments& given, pb::FileOpRequest* out) {
  out->mutable_read()->set_path(PathOf(given));
  out->mutable_read()->set_offset(given.Count("offset"));
  out->mutable_read()->set_max_bytes(given.Count("max_bytes"));
}

Result<Json> AnswerRead(const Arguments&, pb::FileOpResponse response) {
  pb::FileReadResult& read = *response.mutable_read();
  std::string content = std::move(*read.mutable_content());
  // A cut inside a character: the next part begins with it.
  const size_t complete = read.truncated() ? CompleteUtf8Prefix(content) : content.size();
  const size_t left_out = content.size() - complete;
  content.resize(complete);
  if (!IsValidUtf8(content)) return Internal("stream did not contain valid UTF-8");
  Json result = {{"content", std::move(content)}};
  if (read.truncated()) {
    result["truncated"] = true;
    result["total_bytes"] = read.total_bytes();
    result["next_offset"] = read.next_offset() - left_out;
  }
  return result;
}

// --- Write: {bytes} ---

void AskWrite(const Arguments& given, pb::FileOpRequest* out) {
  out->mutable_write()->set_path(PathOf(given));
  out->mutable_write()->set_content(given.String("content"));
}

Result<Json> AnswerWrite(const Arguments&, pb::FileOpResponse response) {
  return Json{{"bytes", response.write().bytes()}};
}

std::optional<std::string> ForeseeWrite(const Arguments& given, const std::optional<std::string>&) {
  return given.String("content");
}

// --- Edit: {edited}, and with replace_all replacements ---

void AskEdit(const Arguments& given, pb::FileOpRequest* out) {
  out->mutable_edit()->set_path(PathOf(given));
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

void AskMultiEdit(const Arguments& given, pb::FileOpRequest* out) {
  out->mutable_multi_edit()->set_path(PathOf(given));
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

void AskList(const Arguments& given, pb::FileOpRequest* out) {
  out->mutable_list()->set_path(PathOf(given));
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
  if (EndsTurn(status)) return status;
  ToolResult result = Failure(status);
  if (denials.empty()) return result;
  Json with_denials = Json::parse(result.json);
  with_denials["denials"] = denials;
  result.json = with_denials.dump();
  return result;
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

  std::string Preview(const std::string& arguments_json, sandbox::Sandbox& sandbox,
                      const std::string& cell_id) const override {
    const Result<Arguments> given = Parse(arguments_json);
    if (!given.ok() || row_.kind != ToolKind::kWritesFile) return "";
    Result<std::optional<std::string>> before = ReadBefore(sandbox, cell_id, PathOf(*given));
    if (!before.ok()) return "";
    std::optional<std::string> after = handler_.foresee(*given, *before);
    return after ? DiffOf(PathOf(*given), {*std::move(before), *std::move(after)}) : "";
  }

  Result<ToolResult> Run(const std::string& arguments_json, ToolContext& context) const override {
    ODY_ASSIGN_OR_RETURN(const Arguments given, Parse(arguments_json));
    Json denials = Json::array();
    const sandbox::FilePlace place{
        context.cell_id, [&](const pb::Denial& denial) {
          denials.push_back(DenialForModel(denial));
          // A record that cannot be made is not the operation's to report.
          (void)context.emit(event::AccessIsDenied(context.turn_id, context.tool_call_id, denial));
        }};
    Result<Json> result = Act(given, place, *context.sandbox);
    if (!result.ok()) return FromError(result.status(), denials);
    (*result)["path"] = PathOf(given);
    return ToolResult{result->dump(-1, ' ', false, Json::error_handler_t::replace), true};
  }

 private:
  Result<Arguments> Parse(const std::string& arguments_json) const {
    return Arguments::Parse(row_.arguments, arguments_json);
  }

  Result<Json> Act(const Arguments& given, const sandbox::FilePlace& place,
                   sandbox::Sandbox& sandbox) const {
    pb::FileOpRequest request;
    handler_.ask(given, &request);
    ODY_ASSIGN_OR_RETURN(pb::FileOpResponse response, sandbox.FileOp(place, std::move(request)));
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
