#include "agentd/tool/tool_registry.h"

#include "agentd/tool/bash_tool.h"
#include "agentd/tool/file_tools.h"
#include "agentd/tool/job_tool.h"
#include "agentd/tool/search_tools.h"
#include "agentd/tool/skill_tool.h"
#include "agentd/tool/worker_tool.h"
#include "policy/model/tool_table.h"

namespace odyssey::tools {
namespace {

std::unique_ptr<Tool> Bind(const policy::ToolRow& row) {
  switch (row.kind) {
    case policy::ToolKind::kCommand:
      return NewBashTool();
    case policy::ToolKind::kSearches:
      return NewSearchTool(row);
    case policy::ToolKind::kSkill:
      return NewSkillTool();
    case policy::ToolKind::kWorker:
      return NewWorkerTool();
    case policy::ToolKind::kJob:
      return NewJobTool();
    case policy::ToolKind::kReadsFile:
    case policy::ToolKind::kWritesFile:
      break;
  }
  return NewFileTool(row);
}

}  // namespace

ToolRegistry::ToolRegistry() {
  for (const policy::ToolRow& row : policy::kTools) tools_[row.name] = Bind(row);
}

const Tool* ToolRegistry::Find(const std::string& name) const {
  const auto it = tools_.find(name);
  return it == tools_.end() ? nullptr : it->second.get();
}

std::vector<std::string> ToolRegistry::Names() const {
  std::vector<std::string> out;
  for (const auto& [name, tool] : tools_) out.push_back(name);
  return out;
}

}  // namespace odyssey::tools
