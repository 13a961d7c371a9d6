#ifndef ODYSSEY_AGENTD_TOOL_FILE_TOOLS_H_
#define ODYSSEY_AGENTD_TOOL_FILE_TOOLS_H_

#include <memory>

#include "agentd/tool/tool.h"

namespace odyssey::tools {

// Paths are relative to the workspace, or absolute in the cell.

// Read: {path, content}, and for a file longer than what is returned truncated, total_bytes and
// next_offset. UTF-8 only.
std::unique_ptr<Tool> NewReadTool();

// Write: {path, bytes}.
std::unique_ptr<Tool> NewWriteTool();

// Edit: {path, edited}. The text must occur exactly once unless replace_all is true.
std::unique_ptr<Tool> NewEditTool();

// LS: {path, entries: [{name, path, type}]}, sorted by type, then name.
std::unique_ptr<Tool> NewListTool();

}  // namespace odyssey::tools

#endif  // ODYSSEY_AGENTD_TOOL_FILE_TOOLS_H_
