#include "supervisor/cell_guard/guarded_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>

#include "supervisor/cell_guard/open_file.h"

namespace odyssey::cell_guard {
namespace {

// So many descriptors commands never have: what judges an operation takes some, and must not depend
// on what they have open.
constexpr rlim_t kOwnDescriptors = 64;

}  // namespace

std::string_view Relative(std::string_view path) {
  return path.substr(std::min(path.find_first_not_of('/'), path.size()));
}

int GuardedTree::Enter(std::string_view path, Place* place) const {
  if (Denied(path)) return EACCES;
  return FindPlace(root.get(), path, place);
}

bool GuardedTree::Denied(std::string_view path) const {
  return std::any_of(deny.begin(), deny.end(), [path](const pattern::PathPattern& pattern) {
    return pattern.Covers(Relative(path));
  });
}

bool GuardedTree::CoversOtherwise(std::string_view one, std::string_view other) const {
  return std::any_of(deny.begin(), deny.end(), [&](const pattern::PathPattern& pattern) {
    return !pattern.IsSameBelow(Relative(one), Relative(other));
  });
}

// A program may lock one file of a directory and rely on whether another exists (git's *.lock).
int GuardedTree::EnterToLock(int fd) {
  const OpenFile file(*this, fd);
  if (const int error = file.Refusal(); error != 0) return error;
  locked_in.AddParentOf(file.path());
  return IsRoomToOpen() ? 0 : ENOLCK;
}

// By the number that the next one gets: the lowest that is free.
bool GuardedTree::IsRoomToOpen() const {
  rlimit most;
  const UniqueFd next(fcntl(root.get(), F_DUPFD_CLOEXEC, 0));
  return next && getrlimit(RLIMIT_NOFILE, &most) == 0 &&
         static_cast<rlim_t>(next.get()) + kOwnDescriptors < most.rlim_cur;
}

bool GuardedTree::RenamesTakeTurns() const {
  return std::any_of(deny.begin(), deny.end(),
                     [](const auto& pattern) { return pattern.HasPlacesAlike(); });
}

}  // namespace odyssey::cell_guard
