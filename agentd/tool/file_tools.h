#ifndef ODYSSEY_AGENTD_TOOL_FILE_TOOLS_H_
#define ODYSSEY_AGENTD_TOOL_FILE_TOOLS_H_

#include <memory>

#include "agentd/tool/tool.h"
#include "policy/model/tool_table.h"

namespace odyssey::tools {

// A tool of the file worker: one operation on a path, relative to the workspace or absolute in the
// cell. `row` is one of policy::kTools, of another kind than kCommand. Results, beside `path`:
//
//   Read   {content}, and for a file longer than what is returned truncated, total_bytes and
//          next_offset. UTF-8 only.
//   Write  {bytes}
//   Edit   {edited}, and with replace_all replacements
//   LS     {entries: [{name, path, type}]}, sorted by type, then name
std::unique_ptr<Tool> NewFileTool(const policy::ToolRow& row);

}  // namespace odyssey::tools

#endif  // ODYSSEY_AGENTD_TOOL_FILE_TOOLS_H_
