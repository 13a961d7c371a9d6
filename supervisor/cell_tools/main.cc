// odyssey-cell-tools [--root PATH]…: file operations inside a cell, over the socket that is fd 3.

#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <vector>

#include "policy/plan/plan.h"
#include "supervisor/cell_tools/path_resolver.h"
#include "supervisor/cell_tools/serve.h"

extern "C" const char __executable_start;  // the linker's: where the program is in memory
extern "C" const char etext;

namespace {

constexpr int kSocket = 3;
constexpr int kMmapThreshold = 64 * 1024;

// Start-up touches most of the program once (relocations, libc's own), a request little of it: what
// is mapped is given back, and what is needed comes again from the page cache. About a quarter of
// the memory of an idle worker.
void ForgetStartup() {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(&__executable_start) & ~(page - 1);
  const auto end = reinterpret_cast<uintptr_t>(&etext) & ~(page - 1);
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

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
  ForgetStartup();
  const odyssey::Status status = odyssey::cell_tools::Serve(kSocket, *resolver);
  return status.ok() ? 0 : Fail(status);
}
