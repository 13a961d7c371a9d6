// odyssey-cell-tools [--root PATH]…: file operations inside a cell, over the socket that is fd 3.

#include <malloc.h>
#include <signal.h>
#include <stdio.h>

#include <string>
#include <string_view>
#include <vector>

#include "policy/plan/plan.h"
#include "supervisor/cell_tools/path_resolver.h"
#include "supervisor/cell_tools/serve.h"

namespace {

constexpr int kSocket = 3;
constexpr int kMmapThreshold = 64 * 1024;

int Fail(const odyssey::Status& status) {
  fprintf(stderr, "odyssey-cell-tools: %s\n", status.ToString().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> roots;
  for (int i = 1; i < argc; i += 2) {
    if (std::string_view(argv[i]) != "--root" || i + 1 == argc) {
      fprintf(stderr, "usage: odyssey-cell-tools [--root PATH]...\n");
      return 2;
    }
    roots.emplace_back(argv[i + 1]);
  }
  if (roots.empty()) roots = {odyssey::plan::kWorkspacePath, odyssey::plan::kCellPath};

  // Fixed, so that a large file's memory goes back to the kernel when its request is done.
  mallopt(M_MMAP_THRESHOLD, kMmapThreshold);
  signal(SIGPIPE, SIG_IGN);
  const auto resolver = odyssey::cell_tools::PathResolver::Create(roots);
  if (!resolver.ok()) return Fail(resolver.status());
  const odyssey::Status status = odyssey::cell_tools::Serve(kSocket, *resolver);
  return status.ok() ? 0 : Fail(status);
}
