#include "supervisor/cell_tools/run_trim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "supervisor/cell_tools/directory_stream.h"
#include "supervisor/wire/cell_wire.h"

namespace odyssey::cell_tools {
namespace {

// Removals of one request: some tens of milliseconds, then other requests have their turn.
constexpr int kMaxRemovals = 2000;
// Directories entered at once, each with a descriptor. What is deeper is moved up instead.
constexpr int kMaxDepth = 32;
constexpr mode_t kOwnerOnly = 0700;

// Removes trees that commands may rearrange meanwhile: no link is followed, and what cannot be
// removed is left.
class Remover final {
 public:
  explicit Remover(int runs) : runs_(runs) {}

  // More is to be done by another request.
  bool unfinished() const { return left_ == 0 || moved_; }

  void Remove(int parent, const std::string& name, int depth) {
    if (left_ == 0) return;
    --left_;
    if (unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) return;
    if (unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOTDIR) return;
    if (depth == kMaxDepth) {
      MoveUp(parent, name);
      return;
    }
    // Its owner may have made it unreadable. A name that became a link meanwhile leads to nothing
    // that this user could not change by itself.
    (void)!fchmodat(parent, name.c_str(), kOwnerOnly, 0);
    DirectoryStream stream(
        UniqueFd(openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)));
    if (!stream.ok()) return;
    while (const dirent* entry = stream.Next()) Remove(stream.fd(), entry->d_name, depth + 1);
    (void)unlinkat(parent, name.c_str(), AT_REMOVEDIR);
  }

 private:
  // As a run that is older than any other, so that it goes next.
  void MoveUp(int parent, const std::string& name) {
    for (uint64_t run = 1; run <= tool::kKeptRuns; ++run) {
      const std::string old = cell::RunName(run);
      if (renameat2(parent, name.c_str(), runs_, old.c_str(), RENAME_NOREPLACE) == 0) {
        moved_ = true;
        return;
      }
      if (errno != EEXIST) return;
    }
  }

  const int runs_;
  int left_ = kMaxRemovals;
  bool moved_ = false;
};

// Newest first.
std::vector<std::string> RunsIn(DirectoryStream* stream) {
  std::vector<std::string> names;
  while (names.size() < tool::kMaxListEntries) {
    const dirent* entry = stream->Next();
    if (entry == nullptr) break;
    if (cell::RunNumber(entry->d_name) != 0) names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end(), std::greater<>());
  return names;
}

}  // namespace

Result<tool::Response> TrimRuns(const RunTree& runs, const tool::Request& request) {
  ODY_ASSIGN_OR_RETURN(UniqueFd fd, runs.OpenDirectory(""));
  DirectoryStream stream(std::move(fd));
  if (!stream.ok()) return ErrnoStatus(errno, "read the directory of runs");
  const std::vector<std::string> names = RunsIn(&stream);
  const std::set<std::string> kept(request.names.begin(), request.names.end());

  Remover remover(stream.fd());
  tool::Response response;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i < tool::kKeptRuns || kept.count(names[i]) != 0) {
      ++response.runs;
    } else {
      remover.Remove(stream.fd(), names[i], 0);
    }
  }
  response.truncated = remover.unfinished();
  return response;
}

}  // namespace odyssey::cell_tools
