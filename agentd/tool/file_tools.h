#ifndef ODYSSEY_AGENTD_TOOL_FILE_TOOLS_H_
#define ODYSSEY_AGENTD_TOOL_FILE_TOOLS_H_

#include <memory>

#include "agentd/tool/tool.h"
#include "policy/model/tool_table.h"

namespace odyssey::tools {

// A tool of the file worker: one operation on a path, relative to the workspace or absolute in the
// cell. `row` is one of policy::kTools, of another kind than kCommand. Its result is an object with
// `path` and what its handler says in file_tools.cc.
std::unique_ptr<Tool> NewFileTool(const policy::ToolRow& row);

}  // namespace odyssey::tools

#endif  // ODYSSEY_AGENTD_TOOL_FILE_TOOLS_H_
