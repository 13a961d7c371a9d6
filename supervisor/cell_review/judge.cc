#include "supervisor/cell_review/judge.h"

#include <sys/stat.h>

namespace odyssey::cell_review {
namespace {

uint32_t TypeOf(Kind kind) {
  switch (kind) {
    case Kind::kFile:
      return S_IFREG;
    case Kind::kDirectory:
      return S_IFDIR;
    case Kind::kSymlink:
      return S_IFLNK;
    case Kind::kPipe:
      return S_IFIFO;
    case Kind::kSocket:
      return S_IFSOCK;
    case Kind::kDevice:
      return S_IFCHR;
    default:
      return 0;
  }
}

}  // namespace

Verdict Judge(const Base& base, const State& upper, const State& host) {
  if (upper == host) return Verdict::kNothing;
  if (!base.known) return Verdict::kConflict;
  if (upper == base.state) return Verdict::kNothing;
  return host == base.state ? Verdict::kClean : Verdict::kConflict;
}

review::ChangeKind KindOfChange(const State& host, const State& upper) {
  using review::ChangeKind;
  if (host.kind == Kind::kNone) return ChangeKind::kAdded;
  if (upper.kind == Kind::kNone) return ChangeKind::kDeleted;
  if (host.kind != upper.kind) return ChangeKind::kType;
  if (host.kind == Kind::kSymlink) return ChangeKind::kLink;
  return host.print == upper.print && host.size == upper.size ? ChangeKind::kMode
                                                              : ChangeKind::kModified;
}

uint32_t ModeOf(const State& state) {
  const uint32_t type = TypeOf(state.kind);
  return type == 0 ? 0 : type | (state.kind == Kind::kSymlink ? 0777 : state.mode);
}

}  // namespace odyssey::cell_review
