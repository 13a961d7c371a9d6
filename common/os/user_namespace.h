#ifndef ODYSSEY_COMMON_OS_USER_NAMESPACE_H_
#define ODYSSEY_COMMON_OS_USER_NAMESPACE_H_

// User namespaces that root makes for cells, in the launch child or, for all of them, in root.
// Each needs a process to be born in, which is forked for it and ends as soon as the namespace is
// held by its descriptor.

#include <sys/types.h>

#include "common/base/status.h"
#include "common/os/unique_fd.h"

namespace odyssey {

// The namespace that the cell lives in: owned by the cell's uid, with `inside` mapped to it and
// nothing else. It must be owned by that uid: otherwise bubblewrap's setns fails with EPERM, and a
// namespace owned by root would give the cell a way to root's own capabilities.
Result<UniqueFd> MakeCellNamespace(uid_t cell_uid, uid_t inside);

// A namespace owned by `owner` in which `count` ids from `inside` on are those from `outside` on:
// of a cell with a range; or, owned by 0, the mapping of an idmapped mount that shows what those
// ids own on disk as the others', and root's as root's.
Result<UniqueFd> MakeRangeNamespace(uid_t owner, uint32_t inside, uint32_t outside, uint32_t count);

inline constexpr uint32_t kUnmappedId = 0xfffffffe;  // the largest there is

// The mapping of an idmapped mount: what `uid`/`gid` own on disk appears as the cell's, and what
// others own as theirs. An owner without a number would make its files unusable even as far as
// world-readable, and those of `uid` that have another group.
//
// With kUnmappedId for `gid` no gid is mapped, for a tree that is only read: the kernel refuses
// every write to an inode with an unmapped uid or gid, sockets and named pipes included, of which
// a read-only mount says nothing. What only its group may read is closed then. With kUnmappedId for
// `uid` no owner has one; with both, `cell_uid` does not matter.
Result<UniqueFd> MakeMappingNamespace(uid_t uid, gid_t gid, uid_t cell_uid, gid_t cell_gid);

}  // namespace odyssey

#endif  // ODYSSEY_COMMON_OS_USER_NAMESPACE_H_
