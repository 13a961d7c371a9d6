#ifndef ODYSSEY_AGENTD_TOOL_TOOL_REGISTRY_H_
#define ODYSSEY_AGENTD_TOOL_TOOL_REGISTRY_H_

// The tools there are. Immutable after construction.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agentd/tool/tool.h"
#include "common/base/status.h"

namespace odyssey::tools {

class ToolRegistry final {
 public:
  // Bash, Edit, LS, Read, Write.
  ToolRegistry();

  // Null: there is no such tool.
  const Tool* Find(const std::string& name) const;

  std::vector<std::string> Names() const;  // sorted

  // INVALID_ARGUMENT naming the first of a manifest's tools that this build does not have.
  Status CheckAvailable(const std::vector<std::string>& names) const;

 private:
  std::map<std::string, std::unique_ptr<Tool>> tools_;
};

}  // namespace odyssey::tools

#endif  // ODYSSEY_AGENTD_TOOL_TOOL_REGISTRY_H_
