#include "supervisor/cell_review/judge.h"

namespace odyssey::cell_review {

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

}  // namespace odyssey::cell_review
