#ifndef ODYSSEY_AGENTD_TOOL_TOOL_REGISTRY_H_
#define ODYSSEY_AGENTD_TOOL_TOOL_REGISTRY_H_

// The tools of policy::kTools, able to run. Immutable after construction.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agentd/tool/tool.h"

namespace odyssey::tools {

class ToolRegistry final {
 public:
  ToolRegistry();

  // Null: there is no such tool.
  const Tool* Find(const std::string& name) const;

  std::vector<std::string> Names() const;  // sorted

 private:
  std::map<std::string, std::unique_ptr<Tool>> tools_;
};

}  // namespace odyssey::tools

#endif  // ODYSSEY_AGENTD_TOOL_TOOL_REGISTRY_H_
