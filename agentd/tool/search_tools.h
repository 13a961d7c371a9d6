#ifndef ODYSSEY_AGENTD_TOOL_SEARCH_TOOLS_H_
#define ODYSSEY_AGENTD_TOOL_SEARCH_TOOLS_H_

#include <memory>

#include "agentd/tool/tool.h"
#include "policy/model/tool_table.h"

namespace odyssey::tools {

// Glob or Grep: ripgrep as a command of the cell, with arguments made here and without a shell. Its
// output is read as a stream, and the first matches by path and line are kept. What the rules deny
// for Read is left out.
std::unique_ptr<Tool> NewSearchTool(const policy::ToolRow& row);

}  // namespace odyssey::tools

#endif  // ODYSSEY_AGENTD_TOOL_SEARCH_TOOLS_H_
