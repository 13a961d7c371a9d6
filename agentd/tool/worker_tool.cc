#include "agentd/tool/worker_tool.h"

#include "agentd/tool/arguments.h"

namespace odyssey::tools {
namespace {

constexpr const policy::ToolRow& kRow = *policy::FindTool(policy::kWorkerCall);

class WorkerTool final : public Tool {
 public:
  model::ToolSpec Spec() const override {
    return {kRow.name, kRow.description, SchemaOf(kRow.arguments)};
  }

  Result<rules::ToolCall> ForRules(const std::string& arguments_json) const override {
    ODY_ASSIGN_OR_RETURN(const Arguments given, Arguments::Parse(kRow.arguments, arguments_json));
    return rules::ToolCall{kRow.name, "", {given.String(kRow.subject)}};
  }

  std::optional<WorkerCall> AsWorkerCall(const std::string& arguments_json) const override {
    const Result<Arguments> given = Arguments::Parse(kRow.arguments, arguments_json);
    if (!given.ok()) return std::nullopt;
    WorkerCall call{given->String("worker"), given->String("input"), {}};
    for (const Arguments& one : given->List("attachments")) {
      call.attachments.push_back(one.String("path"));
    }
    return call;
  }

  Result<ToolResult> Run(const std::string&, ToolContext&) const override {
    return Internal("worker_call is run by the session");
  }
};

}  // namespace

std::unique_ptr<Tool> NewWorkerTool() { return std::make_unique<WorkerTool>(); }

}  // namespace odyssey::tools
