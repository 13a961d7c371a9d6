#include "agentd/tool/bash_tool.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "agentd/event/command_events.h"
#include "agentd/event/command_output.h"
#include "agentd/tool/arguments.h"
#include "agentd/tool/command_outcome.h"
#include "agentd/tool/job_tool.h"
#include "agentd/tool/tool_denial.h"
#include "agentd/tool/tool_result.h"
#include "common/base/utf8.h"
#include "common/message/enum_name.h"

namespace odyssey::tools {
namespace {

namespace pb = ::odyssey::supervisor::v1;
using Json = nlohmann::json;

constexpr const policy::ToolRow& kRow = *policy::FindTool(policy::kBash);

Result<Arguments> ParseBash(const std::string& json) {
  ODY_ASSIGN_OR_RETURN(Arguments given, Arguments::Parse(kRow.arguments, json));
  if (given.String("command").find_first_not_of(" \t\r\n") == std::string::npos) {
    return InvalidArgument("command cannot be empty");
  }
  ODY_RETURN_IF_ERROR(ParseGrants(given).status());
  return given;
}

std::string From(const std::string& workspace, const std::string& cwd) {
  if (cwd.empty()) return workspace;
  return cwd.front() == '/' ? cwd : workspace + "/" + cwd;
}

// One stream of a running command: what the model will read, and what subscribers read meanwhile.
struct Captured {
  event::CommandOutput output;
  std::string text;
};

class CommandRun final {
 public:
  CommandRun(ToolContext& context, std::string command, std::string cwd)
      : context_(context),
        command_(std::move(command)),
        cwd_(std::move(cwd)),
        id_{context.turn_id, ""} {}

  Result<ToolResult> Execute() {
    const sandbox::ExecSink sink{
        [this](const pb::ExecStarted& started) { return OnStarted(started); },
        [this](const pb::ExecOutput& output) { return OnOutput(output); },
        [this](const pb::Denial& denial) { return OnDenied(denial); },
        [this](const pb::EgressDecision& decision) { return OnDecided(decision); }};
    const Result<pb::ExecOutcome> ended = context_.sandbox->Exec(ToStart(), sink, context_.stop);
    if (!ended.ok()) return OnError(ended.status());

    ODY_RETURN_IF_ERROR(Deliver(out_, out_.output.End(ended->stdout_truncated())));
    ODY_RETURN_IF_ERROR(Deliver(err_, err_.output.End(ended->stderr_truncated())));
    const int32_t exit_code = Exited(*ended) ? ended->exit_code() : -1;
    ODY_RETURN_IF_ERROR(EmitEnd(exit_code, message::EnumName(ended->kind())));
    return ToResult(*ended);
  }

 private:
  std::vector<std::string> Argv() const { return {context_.shell, "-lc", command_}; }

  pb::ExecStart ToStart() const {
    pb::ExecStart out;
    out.set_cell_id(context_.cell_id);
    for (const std::string& word : Argv()) out.add_argv(word);
    out.set_cwd(cwd_);
    out.set_default_wall_clock_ms(context_.wall_clock_ms);
    out.set_stdout_cap_bytes(context_.output_cap_bytes);
    out.set_stderr_cap_bytes(context_.output_cap_bytes);
    out.set_keep_output(context_.keep_output);
    return out;
  }

  Status OnStarted(const pb::ExecStarted& started) {
    id_.exec_id = started.exec_id();
    run_id_ = started.run_id();
    return context_.emit(event::CommandBegins(id_, Argv(), From(context_.workspace, cwd_)));
  }

  Status OnOutput(const pb::ExecOutput& output) {
    Captured& captured = output.stream() == pb::OUTPUT_STREAM_STDERR ? err_ : out_;
    return Deliver(captured, captured.output.Push(output.data()));
  }

  Status OnDenied(const pb::Denial& denial) {
    denials_.push_back(DenialForModel(denial));
    return context_.emit(event::AccessIsDenied(id_.turn_id, context_.tool_call_id, denial));
  }

  Status OnDecided(const pb::EgressDecision& decision) {
    return context_.emit(event::EgressIsDecided(id_.turn_id, context_.tool_call_id, decision));
  }

  Status Deliver(Captured& captured, const std::string& text) {
    if (text.empty()) return OkStatus();
    captured.text += text;
    return context_.emit(event::CommandPrints(id_, captured.output.name(), text));
  }

  // Nothing of a command that never began.
  Status EmitEnd(int32_t exit_code, std::string_view outcome) {
    if (id_.exec_id.empty()) return OkStatus();
    return context_.emit(event::CommandEnds(id_, exit_code, outcome));
  }

  Result<ToolResult> OnError(const Status& status) {
    if (!EndsTurn(status) && !id_.exec_id.empty()) return status;  // of the journal
    const bool cancelled = status.code() == Code::kCancelled;
    ODY_RETURN_IF_ERROR(EmitEnd(-1, cancelled ? "cancelled" : "setup_failed"));
    if (EndsTurn(status)) return status;
    return Failure(status);
  }

  ToolResult ToResult(const pb::ExecOutcome& ended) const {
    const bool exited = Exited(ended);
    Json result = {{"stdout", out_.text},
                   {"stderr", err_.text},
                   {"stdout_truncated", ended.stdout_truncated()},
                   {"stderr_truncated", ended.stderr_truncated()}};
    AddOutcome(ended, &result);
    if (!exited) result["error"] = WhyEnded(ended, context_.shell);
    AddFullOutput(ended, &result);
    if (!denials_.empty()) result["denials"] = denials_;
    return {result.dump(), exited, RefusedDestinations(ended)};
  }

  // Where the model reads on. What is to be said of these files, that a full disk cut them short
  // for example, is the outcome's message.
  void AddFullOutput(const pb::ExecOutcome& ended, Json* result) const {
    const bool cut = ended.stdout_truncated() || ended.stderr_truncated();
    if (!cut || !context_.keep_output || run_id_.empty()) return;
    const std::string outbox = "/cell/runs/" + run_id_ + "/outbox/";
    if (ended.stdout_truncated()) (*result)["full_stdout"] = outbox + "stdout";
    if (ended.stderr_truncated()) (*result)["full_stderr"] = outbox + "stderr";
    if (!ended.message().empty()) (*result)["message"] = ended.message();
  }

  ToolContext& context_;
  const std::string command_;
  const std::string cwd_;
  event::CommandId id_;  // without exec_id: it has not begun
  std::string run_id_;
  Json denials_ = Json::array();
  Captured out_{event::CommandOutput("stdout"), {}};
  Captured err_{event::CommandOutput("stderr"), {}};
};

class BashTool final : public Tool {
 public:
  model::ToolSpec Spec() const override {
    return {kRow.name, kRow.description, SchemaOf(kRow.arguments)};
  }

  Result<rules::ToolCall> ForRules(const std::string& arguments_json) const override {
    ODY_ASSIGN_OR_RETURN(const Arguments given, ParseBash(arguments_json));
    return rules::ToolCall{kRow.name, given.String(kRow.subject), {}, given.String("cwd")};
  }

  std::string WorkingDirectory(const std::string& arguments_json,
                               const std::string& workspace) const override {
    const Result<Arguments> given = ParseBash(arguments_json);
    return From(workspace, given.ok() ? given->String("cwd") : "");
  }

  GrantRequest GrantsOf(const std::string& arguments_json) const override {
    const Result<Arguments> given = ParseBash(arguments_json);
    return given.ok() ? *ParseGrants(*given) : GrantRequest();
  }

  Result<ToolResult> Run(const std::string& arguments_json, ToolContext& context) const override {
    ODY_ASSIGN_OR_RETURN(const Arguments given, ParseBash(arguments_json));
    const std::string command = given.String("command"), cwd = given.String("cwd");
    if (given.Boolean("background")) {
      return StartJob({command, cwd, From(context.workspace, cwd)}, context);
    }
    return CommandRun(context, command, cwd).Execute();
  }
};

}  // namespace

std::string DescribeShell(const std::string& shell) {
  if (shell == kBashShell) return std::string(kRow.description) + ", by bash -lc";
  return std::string(kRow.description) + ", by " + shell +
         " -lc: POSIX syntax only, without [[ ]], arrays, {a,b}, <( ), <<< and pipefail";
}

std::unique_ptr<Tool> NewBashTool() { return std::make_unique<BashTool>(); }

}  // namespace odyssey::tools
