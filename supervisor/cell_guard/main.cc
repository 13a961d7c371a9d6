// odyssey-cell-guard [PATTERN… ""]…: serves the guards of a cell's trees. Executed by cell-init,
// which has mounted them, as the cell's user and confined as the cell's commands are. The patterns
// of each guard end with an empty argument; its tree and its FUSE connection are two descriptors,
// from fd 3 on (cell::Guard).

#include <stdio.h>
#include <sys/prctl.h>

#include <string>
#include <utility>
#include <vector>

#include "supervisor/cell_guard/guard.h"

namespace {

using odyssey::cell_guard::GuardedTree;
using odyssey::pattern::PathPattern;

constexpr int kFirstFd = 3;

odyssey::Result<std::vector<GuardedTree>> TreesOf(const std::vector<std::string>& arguments) {
  std::vector<GuardedTree> trees;
  std::vector<PathPattern> deny;
  for (const std::string& argument : arguments) {
    if (!argument.empty()) {
      ODY_ASSIGN_OR_RETURN(deny.emplace_back(), PathPattern::Parse(argument));
      continue;
    }
    const int fd = kFirstFd + 2 * static_cast<int>(trees.size());
    trees.push_back({.root = odyssey::UniqueFd(fd),
                     .deny = std::exchange(deny, {}),
                     .fuse = odyssey::UniqueFd(fd + 1)});
  }
  return trees;
}

odyssey::Status ServeTrees(const std::vector<std::string>& arguments) {
  ODY_ASSIGN_OR_RETURN(auto trees, TreesOf(arguments));
  return odyssey::cell_guard::Serve(std::move(trees));
}

}  // namespace

int main(int argc, char** argv) {
  // No process of the same uid may trace it or read its memory.
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  const odyssey::Status status = ServeTrees({argv + 1, argv + argc});
  if (status.ok()) return 0;
  dprintf(2, "cell-guard: %s\n", status.message().c_str());
  return 125;
}
