#include "agentd/tool/tool_registry.h"

#include "agentd/tool/bash_tool.h"
#include "agentd/tool/file_tools.h"
#include "policy/model/tool_table.h"

namespace odyssey::tools {

ToolRegistry::ToolRegistry() {
  for (const policy::ToolRow& row : policy::kTools) {
    const bool command = row.kind == policy::ToolKind::kCommand;
    tools_[row.name] = command ? NewBashTool() : NewFileTool(row);
  }
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
