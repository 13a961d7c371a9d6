#ifndef ODYSSEY_SUPERVISOR_CELL_TOOLS_LIST_DIRECTORY_H_
#define ODYSSEY_SUPERVISOR_CELL_TOOLS_LIST_DIRECTORY_H_

#include "supervisor/cell_tools/path_resolver.h"
#include "supervisor/wire/tool_wire.h"

namespace odyssey::cell_tools {

// One level of a directory, sorted by type, then name; hides nothing but "." and ".." and, in a
// mount with suffixes, files of other names. Of a larger
// directory the first tool::kMaxListEntries in that order, and `truncated`; memory is bounded by
// them, not by the directory. Links are shown as links. Names that are not UTF-8 get U+FFFD for
// each bad byte. FAILED_PRECONDITION "path `x` is not a directory".
Result<tool::Response> ListDirectory(const PathResolver& resolver, const VisiblePath& path);

}  // namespace odyssey::cell_tools

#endif  // ODYSSEY_SUPERVISOR_CELL_TOOLS_LIST_DIRECTORY_H_
