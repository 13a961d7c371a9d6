#ifndef ODYSSEY_SUPERVISOR_CELL_TOOLS_NAME_FILTER_H_
#define ODYSSEY_SUPERVISOR_CELL_TOOLS_NAME_FILTER_H_

// What a mount says about the files that file operations see in it: ends of names, and a size. A
// convenience for models, no confinement: commands see every file. Pure. The texts are for models
// to read, so they say what is allowed.

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "supervisor/wire/cell_wire.h"

namespace odyssey::cell_tools {

// Whether a file of this name is seen. ASCII letters match in either case.
bool IsSeen(const cell::ToolRoot& root, std::string_view name);

// PERMISSION_DENIED "Cannot access '<given>': suffix '.x' not allowed.\nAllowed suffixes: .md".
// `name` is what the file is called in the end, `given` how the client spelled it.
Status CheckSuffix(const cell::ToolRoot& root, std::string_view name, const std::string& given);

// FAILED_PRECONDITION "Cannot <verb> '<given>': file too large (1,234 bytes).\nMaximum allowed:
// 1,000 bytes".
Status CheckSize(const cell::ToolRoot& root, const char* verb, uint64_t bytes,
                 const std::string& given);

}  // namespace odyssey::cell_tools

#endif  // ODYSSEY_SUPERVISOR_CELL_TOOLS_NAME_FILTER_H_
