#include "agentd/tool/bash_tool.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "agentd/base/denial_json.h"
#include "agentd/event/command_output.h"
#include "agentd/tool/arguments.h"
#include "agentd/tool/tool_result.h"
#include "common/base/utf8.h"

namespace odyssey::tools {
namespace {

using Json = nlohmann::json;
using sandbox::Outcome;
using sandbox::OutputStream;

const Parameters& BashParameters() {
  static const Parameters kParameters = {
      {"command", Kind::kString, Need::kRequired,
       "The command line, for sh -lc. Output that is cut is in full in the files that full_stdout "
       "and full_stderr name, for Read"},
      {"cwd", Kind::kString, Need::kOptional,
       "Directory to run it in: absolute, or relative to the workspace"}};
  return kParameters;
}

Result<Arguments> ParseBash(const std::string& json) {
  ODY_ASSIGN_OR_RETURN(Arguments given, Arguments::Parse(BashParameters(), json));
  if (given.String("command").find_first_not_of(" \t\r\n") == std::string::npos) {
    return InvalidArgument("command cannot be empty");
  }
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
      : context_(context), command_(std::move(command)), cwd_(std::move(cwd)) {}

  Result<ToolResult> Execute() {
    const sandbox::ExecSpec spec{
        context_.cell_id,    Argv(), cwd_, context_.wall_clock_ms, context_.output_cap_bytes,
        context_.keep_output};
    const sandbox::ExecSink sink{
        [this](const std::string& exec_id) { return OnStarted(exec_id); },
        [this](OutputStream stream, std::string_view data) { return OnOutput(stream, data); },
        [this](const agent::Denial& denial) { return OnDenied(denial); }};
    Result<sandbox::ExecResult> ended = context_.sandbox->Exec(spec, sink, context_.stop);
    if (!ended.ok()) return OnError(ended.status());

    ODY_RETURN_IF_ERROR(Deliver(out_, out_.output.End(ended->stdout_truncated)));
    ODY_RETURN_IF_ERROR(Deliver(err_, err_.output.End(ended->stderr_truncated)));
    ODY_RETURN_IF_ERROR(EmitEnd(*ended));
    return ToResult(*ended);
  }

 private:
  std::vector<std::string> Argv() const { return {"sh", "-lc", command_}; }

  Status OnStarted(const std::string& exec_id) {
    exec_id_ = exec_id;
    return context_.emit(event::ExecCommandBegin{context_.turn_id, exec_id_, Argv(),
                                                 From(context_.workspace, cwd_)});
  }

  Status OnOutput(OutputStream stream, std::string_view data) {
    Captured& captured = stream == OutputStream::kStdout ? out_ : err_;
    return Deliver(captured, captured.output.Push(data));
  }

  Status OnDenied(const agent::Denial& denial) {
    denials_.push_back(agent::DenialForModel(denial));
    return context_.emit(event::AccessDenied{context_.turn_id, context_.tool_call_id, denial});
  }

  Status Deliver(Captured& captured, const std::string& text) {
    if (text.empty()) return OkStatus();
    captured.text += text;
    return context_.emit(
        event::ExecCommandOutputDelta{context_.turn_id, exec_id_, captured.output.name(), text});
  }

  Status EmitEnd(const sandbox::ExecResult& ended) {
    if (exec_id_.empty()) return OkStatus();  // it never began
    const int32_t exit_code = ended.outcome == Outcome::kExited ? ended.exit_code : -1;
    return context_.emit(event::ExecCommandEnd{context_.turn_id, exec_id_, exit_code,
                                               std::string(sandbox::OutcomeName(ended.outcome))});
  }

  Result<ToolResult> OnError(const Status& status) {
    if (!EndsTurn(status) && !exec_id_.empty()) return status;  // of the journal
    if (!exec_id_.empty()) {
      const char* outcome = status.code() == Code::kCancelled ? "cancelled" : "setup_failed";
      ODY_RETURN_IF_ERROR(
          context_.emit(event::ExecCommandEnd{context_.turn_id, exec_id_, -1, outcome}));
    }
    if (EndsTurn(status)) return status;
    return Failure(status);
  }

  // Why a command that did not exit by itself ended; "" if it did.
  std::string ErrorOf(const sandbox::ExecResult& ended) const {
    const std::string detail = ended.message.empty() ? "" : ": " + ended.message;
    switch (ended.outcome) {
      case Outcome::kExited:
        return "";
      case Outcome::kSignalled:
        return "execution failed: command was killed by signal " + std::to_string(ended.signal);
      case Outcome::kTimedOut:
        return "execution failed: command exceeded wall clock limit of " +
               std::to_string((context_.wall_clock_ms + 999) / 1000) + " seconds";
      case Outcome::kOomKilled:
        return "execution failed: command was killed because the cell's memory limit was reached";
      case Outcome::kDenied:
        return "permission denied: the policy does not let sh execute" + detail;
      case Outcome::kNotFound:
        return "execution failed: there is no sh in the cell" + detail;
      case Outcome::kSetupFailed:
      case Outcome::kCancelled:
        return "execution failed: command could not be started" + detail;
    }
    return "execution failed";
  }

  ToolResult ToResult(const sandbox::ExecResult& ended) const {
    const bool exited = ended.outcome == Outcome::kExited;
    Json result = {{"status_code", exited ? Json(ended.exit_code) : Json(nullptr)},
                   {"outcome", sandbox::OutcomeName(ended.outcome)},
                   {"stdout", out_.text},
                   {"stderr", err_.text},
                   {"stdout_truncated", ended.stdout_truncated},
                   {"stderr_truncated", ended.stderr_truncated}};
    if (ended.outcome == Outcome::kSignalled) result["signal"] = ended.signal;
    if (!exited) result["error"] = ErrorOf(ended);
    AddFullOutput(ended, &result);
    if (!denials_.empty()) result["denials"] = denials_;
    return {result.dump(), exited};
  }

  // Where the model reads on. What is to be said of these files, that a full disk cut them short
  // for example, is the outcome's message.
  void AddFullOutput(const sandbox::ExecResult& ended, Json* result) const {
    const bool cut = ended.stdout_truncated || ended.stderr_truncated;
    if (!cut || !context_.keep_output || ended.run_id.empty()) return;
    const std::string outbox = "/cell/runs/" + ended.run_id + "/outbox/";
    if (ended.stdout_truncated) (*result)["full_stdout"] = outbox + "stdout";
    if (ended.stderr_truncated) (*result)["full_stderr"] = outbox + "stderr";
    if (!ended.message.empty()) (*result)["message"] = ended.message;
  }

  ToolContext& context_;
  const std::string command_;
  const std::string cwd_;
  std::string exec_id_;
  Json denials_ = Json::array();
  Captured out_{event::CommandOutput("stdout"), {}};
  Captured err_{event::CommandOutput("stderr"), {}};
};

class BashTool final : public Tool {
 public:
  model::ToolSpec Spec() const override {
    return {"Bash", "Run a sandboxed shell command", SchemaOf(BashParameters())};
  }

  Result<rules::ToolCall> ForRules(const std::string& arguments_json) const override {
    ODY_ASSIGN_OR_RETURN(const Arguments given, ParseBash(arguments_json));
    return rules::ToolCall{"Bash", given.String("command"), {}};
  }

  std::string WorkingDirectory(const std::string& arguments_json,
                               const std::string& workspace) const override {
    const Result<Arguments> given = ParseBash(arguments_json);
    return From(workspace, given.ok() ? given->String("cwd") : "");
  }

  Result<ToolResult> Run(const std::string& arguments_json, ToolContext& context) const override {
    ODY_ASSIGN_OR_RETURN(const Arguments given, ParseBash(arguments_json));
    return CommandRun(context, given.String("command"), given.String("cwd")).Execute();
  }
};

}  // namespace

std::unique_ptr<Tool> NewBashTool() { return std::make_unique<BashTool>(); }

}  // namespace odyssey::tools
