#include "agentd/tool/tool_registry.h"

#include <utility>

#include "agentd/tool/bash_tool.h"
#include "agentd/tool/file_tools.h"
#include "common/base/refusal.h"

namespace odyssey::tools {

ToolRegistry::ToolRegistry() {
  for (auto* make : {NewBashTool, NewReadTool, NewWriteTool, NewEditTool, NewListTool}) {
    std::unique_ptr<Tool> tool = make();
    std::string name = tool->Spec().name;
    tools_[std::move(name)] = std::move(tool);
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

Status ToolRegistry::CheckAvailable(const std::vector<std::string>& names) const {
  for (size_t i = 0; i < names.size(); ++i) {
    if (Find(names[i]) != nullptr) continue;
    std::string available;
    for (const std::string& other : Names()) available += (available.empty() ? "" : ", ") + other;
    return Refused(Code::kInvalidArgument, "tools[" + std::to_string(i) + "]", names[i],
                   "is not available in this version; available: " + available, available);
  }
  return OkStatus();
}

}  // namespace odyssey::tools
