#include "supervisor/cell_tools/worker.h"

#include <malloc.h>

#include <utility>

#include "supervisor/cell_tools/path_resolver.h"
#include "supervisor/cell_tools/serve.h"
#include "supervisor/cell_tools/startup_memory.h"

namespace odyssey::cell_tools {
namespace {

constexpr int kMmapThreshold = 64 * 1024;

}  // namespace

Status Work(int socket, const std::vector<cell::ToolRoot>& roots) {
  // Fixed, so that a large file's memory goes back to the kernel when its request is done.
  mallopt(M_MMAP_THRESHOLD, kMmapThreshold);
  ODY_ASSIGN_OR_RETURN(PathResolver paths, PathResolver::Create(roots));
  ReleaseStartupPages();
  return Serve(socket, {std::move(paths), RunTree(cell::kRunsPath)});
}

}  // namespace odyssey::cell_tools
