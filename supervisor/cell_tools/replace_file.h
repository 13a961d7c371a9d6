#ifndef ODYSSEY_SUPERVISOR_CELL_TOOLS_REPLACE_FILE_H_
#define ODYSSEY_SUPERVISOR_CELL_TOOLS_REPLACE_FILE_H_

// Writes a file so that a reader sees the old content or the new, never a part.

#include <sys/types.h>

#include <string_view>

#include "common/base/status.h"
#include "supervisor/cell_tools/path_resolver.h"

namespace odyssey::cell_tools {

enum class Created { kNo, kYes };

// Gives the file that `path` names the content `bytes`: a temporary file beside it, then rename, so
// on failure the old file is as it was. A symbolic link is followed, not replaced. A new file gets
// `mode` exactly; an old one keeps its own. Not synced to disk: atomic for readers, not for power
// cuts.
//
// Two files are overwritten in place instead: one that is itself a mount point, which cannot be
// renamed over (EBUSY), and one with other hard links, which keep the same content.
//
// FAILED_PRECONDITION: not a regular file. Others: see path_resolver.h.
Result<Created> ReplaceFile(const PathResolver& resolver, const VisiblePath& path,
                            std::string_view bytes, mode_t mode, MissingParents missing);

}  // namespace odyssey::cell_tools

#endif  // ODYSSEY_SUPERVISOR_CELL_TOOLS_REPLACE_FILE_H_
