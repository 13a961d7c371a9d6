#ifndef ODYSSEY_AGENTD_TOOL_CELL_PATH_H_
#define ODYSSEY_AGENTD_TOOL_CELL_PATH_H_

// Paths of a cell as text, without "..". Pure.

#include <string>
#include <string_view>

namespace odyssey::tools {

// Without "." and empty components.
std::string AbsolutePath(std::string_view path, const std::string& workspace);

// The path that a call works with: `given`, or where it leads, if that is not empty: absolute or
// relative to the workspace as `given` is, where it can be.
std::string UsedPath(const std::string& given, const std::string& leads_to,
                     const std::string& workspace);

}  // namespace odyssey::tools

#endif  // ODYSSEY_AGENTD_TOOL_CELL_PATH_H_
