#include "agentd/tool/file_tools.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "agentd/event/command_events.h"
#include "agentd/tool/arguments.h"
#include "agentd/tool/file_preview.h"
#include "agentd/tool/tool_denial.h"
#include "agentd/tool/tool_result.h"
#include "common/base/utf8.h"

namespace odyssey::tools {
namespace {

using Json = nlohmann::json;

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

// The part that all file tools share: a name, a table of arguments one of which is a path, a body.
class FileTool : public Tool {
 public:
  FileTool(const char* name, const char* description, Parameters parameters)
      : name_(name), description_(description), parameters_(std::move(parameters)) {}

  model::ToolSpec Spec() const final { return {name_, description_, SchemaOf(parameters_)}; }

  Result<rules::ToolCall> ForRules(const std::string& arguments_json) const final {
    ODY_ASSIGN_OR_RETURN(const Arguments given, Parse(arguments_json));
    return rules::ToolCall{name_, "", {PathOf(given)}};
  }

  std::string Preview(const std::string& arguments_json, sandbox::Sandbox& sandbox,
                      const std::string& cell_id) const final {
    const Result<Arguments> given = Parse(arguments_json);
    if (!given.ok()) return "";
    const std::optional<FileChange> change = Foresee(*given, cell_id, sandbox);
    return change ? DiffOf(PathOf(*given), *change) : "";
  }

  Result<ToolResult> Run(const std::string& arguments_json, ToolContext& context) const final {
    ODY_ASSIGN_OR_RETURN(const Arguments given, Parse(arguments_json));
    Json denials = Json::array();
    const sandbox::FilePlace place{
        context.cell_id, [&](const supervisor::v1::Denial& denial) {
          denials.push_back(DenialForModel(denial));
          // A record that cannot be made is not the operation's to report.
          (void)context.emit(event::AccessIsDenied(context.turn_id, context.tool_call_id, denial));
        }};
    const Result<Json> result = Act(given, place, *context.sandbox);
    if (!result.ok()) return FromError(result.status(), denials);
    return ToolResult{result->dump(-1, ' ', false, Json::error_handler_t::replace), true};
  }

 protected:
  // The path, or the workspace where it may be left out.
  static std::string PathOf(const Arguments& given) {
    const std::string path = given.String("path");
    return path.empty() ? "." : path;
  }
  virtual Status Check(const Arguments& given) const {
    return given.String("path").empty() ? InvalidArgument("path cannot be empty") : OkStatus();
  }
  virtual Result<Json> Act(const Arguments& given, const sandbox::FilePlace& place,
                           sandbox::Sandbox& sandbox) const = 0;
  // What Act would do to the file; nothing: it writes none, or would fail.
  virtual std::optional<FileChange> Foresee(const Arguments&, const std::string&,
                                            sandbox::Sandbox&) const {
    return std::nullopt;
  }

 private:
  Result<Arguments> Parse(const std::string& arguments_json) const {
    ODY_ASSIGN_OR_RETURN(Arguments given, Arguments::Parse(parameters_, arguments_json));
    ODY_RETURN_IF_ERROR(Check(given));
    return given;
  }

  const char* const name_;
  const char* const description_;
  const Parameters parameters_;
};

class ReadTool final : public FileTool {
 public:
  ReadTool()
      : FileTool("Read", "Read a text file",
                 {{"path", Kind::kString, Need::kRequired, "The file"},
                  {"offset", Kind::kCount, Need::kOptional,
                   "Byte to begin at: next_offset of a truncated result"},
                  {"max_bytes", Kind::kCount, Need::kOptional, "Most bytes to return"}}) {}

 private:
  Result<Json> Act(const Arguments& given, const sandbox::FilePlace& place,
                   sandbox::Sandbox& sandbox) const override {
    const std::string path = PathOf(given);
    Result<sandbox::FileContent> read =
        sandbox.ReadFile(place, path, given.Count("offset"), given.Count("max_bytes"));
    if (!read.ok()) return read.status();

    // A cut inside a character: the next part begins with it.
    const size_t complete =
        read->truncated ? CompleteUtf8Prefix(read->content) : read->content.size();
    const size_t left_out = read->content.size() - complete;
    read->content.resize(complete);
    if (!IsValidUtf8(read->content)) {
      return Internal("stream did not contain valid UTF-8");
    }
    Json result = {{"path", path}, {"content", std::move(read->content)}};
    if (read->truncated) {
      result["truncated"] = true;
      result["total_bytes"] = read->total_bytes;
      result["next_offset"] = read->next_offset - left_out;
    }
    return result;
  }
};

class WriteTool final : public FileTool {
 public:
  WriteTool()
      : FileTool("Write", "Write a text file",
                 {{"path", Kind::kString, Need::kRequired, "The file; its directories are made"},
                  {"content", Kind::kString, Need::kRequired, "Its new content"}}) {}

 private:
  Result<Json> Act(const Arguments& given, const sandbox::FilePlace& place,
                   sandbox::Sandbox& sandbox) const override {
    const std::string path = PathOf(given);
    Result<uint64_t> bytes = sandbox.WriteFile(place, path, given.String("content"), 0);
    if (!bytes.ok()) return bytes.status();
    return Json{{"path", path}, {"bytes", *bytes}};
  }
  std::optional<FileChange> Foresee(const Arguments& given, const std::string& cell_id,
                                    sandbox::Sandbox& sandbox) const override {
    Result<std::optional<std::string>> before = ReadBefore(sandbox, cell_id, PathOf(given));
    if (!before.ok()) return std::nullopt;
    return FileChange{*std::move(before), given.String("content")};
  }
};

class EditTool final : public FileTool {
 public:
  EditTool()
      : FileTool("Edit", "Replace text in a file",
                 {{"path", Kind::kString, Need::kRequired, "The file"},
                  {"old_text", Kind::kString, Need::kRequired, "Text that is there once"},
                  {"new_text", Kind::kString, Need::kRequired, "What replaces it"},
                  {"replace_all", Kind::kBoolean, Need::kOptional, "Replace every occurrence"}}) {}

 private:
  Status Check(const Arguments& given) const override {
    ODY_RETURN_IF_ERROR(FileTool::Check(given));
    return given.String("old_text").empty() ? InvalidArgument("old_text cannot be empty")
                                            : OkStatus();
  }
  Result<Json> Act(const Arguments& given, const sandbox::FilePlace& place,
                   sandbox::Sandbox& sandbox) const override {
    const std::string path = PathOf(given);
    Result<uint32_t> replaced =
        sandbox.EditFile(place, path, given.String("old_text"), given.String("new_text"),
                         given.Boolean("replace_all"));
    if (!replaced.ok()) return replaced.status();
    Json result = {{"path", path}, {"edited", true}};
    if (given.Boolean("replace_all")) result["replacements"] = *replaced;
    return result;
  }
  std::optional<FileChange> Foresee(const Arguments& given, const std::string& cell_id,
                                    sandbox::Sandbox& sandbox) const override {
    Result<std::optional<std::string>> before = ReadBefore(sandbox, cell_id, PathOf(given));
    if (!before.ok() || !*before) return std::nullopt;
    std::optional<std::string> after = Replace(
        **before, given.String("old_text"), given.String("new_text"), given.Boolean("replace_all"));
    if (!after) return std::nullopt;
    return FileChange{*std::move(before), *std::move(after)};
  }
};

class ListTool final : public FileTool {
 public:
  ListTool()
      : FileTool("LS", "List visible files and directories",
                 {{"path", Kind::kString, Need::kOptional, "The directory; default: ."}}) {}

 private:
  Status Check(const Arguments&) const override { return OkStatus(); }
  Result<Json> Act(const Arguments& given, const sandbox::FilePlace& place,
                   sandbox::Sandbox& sandbox) const override {
    const std::string path = PathOf(given);
    Result<sandbox::FileList> list = sandbox.ListFiles(place, path);
    if (!list.ok()) return list.status();
    Json entries = Json::array();
    for (const sandbox::FileEntry& entry : list->entries) {
      entries.push_back({{"name", entry.name}, {"path", entry.path}, {"type", entry.type}});
    }
    Json result = {{"path", path}, {"entries", std::move(entries)}};
    if (list->truncated) result["truncated"] = true;
    return result;
  }
};

}  // namespace

std::unique_ptr<Tool> NewReadTool() { return std::make_unique<ReadTool>(); }
std::unique_ptr<Tool> NewWriteTool() { return std::make_unique<WriteTool>(); }
std::unique_ptr<Tool> NewEditTool() { return std::make_unique<EditTool>(); }
std::unique_ptr<Tool> NewListTool() { return std::make_unique<ListTool>(); }

}  // namespace odyssey::tools
