#ifndef ODYSSEY_SUPERVISOR_CELL_TOOLS_RUN_FILES_H_
#define ODYSSEY_SUPERVISOR_CELL_TOOLS_RUN_FILES_H_

// rpc's own operations on the files of a run, and on others for a client that copies them. Each is
// one request of tool_wire.h, where its fields are named; how paths are taken is said in
// run_tree.h.

#include "supervisor/cell_tools/run_tree.h"
#include "supervisor/wire/tool_wire.h"

namespace odyssey::cell_tools {

Result<tool::Response> MakeRun(const RunTree& runs, const tool::Request& request);

// ALREADY_EXISTS if anything has that name; with `replace_all` it is removed first, unless it is a
// directory. On failure nothing of it stays.
Result<tool::Response> Create(const RunTree& runs, const tool::Request& request);

// ABORTED if the file does not end at `offset`: another process writes to it. `mode`, if not 0, is
// what the file has afterwards.
Result<tool::Response> Append(const RunTree& runs, const tool::Request& request);

// FAILED_PRECONDITION if it is no regular file.
Result<tool::Response> Fetch(const RunTree& runs, const tool::Request& request);

// Sorted by path, which is relative to that of the request. At most tool::kMaxListEntries, then
// `truncated`. Of a regular file the one entry has the path "".
// PERMISSION_DENIED: the path is a symbolic link, or leads over one.
Result<tool::Response> ListTree(const RunTree& runs, const tool::Request& request);

Result<tool::Response> Discard(const RunTree& runs, const tool::Request& request);

}  // namespace odyssey::cell_tools

#endif  // ODYSSEY_SUPERVISOR_CELL_TOOLS_RUN_FILES_H_
