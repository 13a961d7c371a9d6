#ifndef ODYSSEY_POLICY_PLAN_PLAN_H_
#define ODYSSEY_POLICY_PLAN_PLAN_H_

// The plan of one cell: what odyssey-supervisor-rpc compiles and odyssey-supervisor (root) executes
// without interpreting. A value; its bytes cross a privilege boundary, so root decodes them with
// the bounds below and checks them with plan_check.h before it acts.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace odyssey::plan {

inline constexpr size_t kMaxPlanBytes = 128 * 1024;  // fits one message, see message_socket.h
inline constexpr uint32_t kMaxEntries = 2048;
inline constexpr uint32_t kMaxPath = 4095;  // PATH_MAX without its NUL
inline constexpr uint32_t kMaxFileBytes = 16 * 1024;
inline constexpr uint32_t kMaxCellId = 64;
inline constexpr uint32_t kMaxPids = 32768;
inline constexpr uint32_t kCellUser = 1000;       // unless a policy says otherwise
inline constexpr uint32_t kMaxUser = 0xfffffffe;  // -1 is no uid
inline constexpr uint32_t kRangeIds = 65536;      // of a cell with a range
inline constexpr uint32_t kMaxLayers = 128;       // overlayfs takes 500
inline constexpr uint32_t kMaxLayerName = 64;

enum class Network : uint8_t { kNone, kFull };
enum class Access : uint8_t { kReadOnly, kReadWrite };
// What pid 1 is: odyssey-cell-init; or odyssey-cell-review or odyssey-cell-layer, which run no
// command.
enum class Program : uint8_t { kInit, kReview, kLayer };
// Which ids of the cell's user namespace are ids of the host: `user` and `group` alone, or 0 to
// kRangeIds - 1, a range of host ids of the cell's own, none of which is a user's of the host.
enum class Ids : uint8_t { kOne, kRange };

// Entries are executed in order; parents of a target are made as needed (0755, root). A target may
// lie inside another entry's only if that one comes first and is a directory or a tmpfs; a cell
// tree may also hold a cell tree or a tmpfs (its mount point is made in the tree, owned by the
// cell's uid).
enum class EntryKind : uint8_t {
  kDirectory,  // an empty directory
  kSymlink,    // source = what the link says
  kFile,       // source = the content; 0444
  kTmpfs,  // size_bytes; owned by the cell's uid, 0700 (01777 for /tmp). kReadOnly: root's, 0755,
           // so that it holds mount points and nothing else
  kCellTree,  // source = a directory of the cell's own tree, e.g. "data/home"; made if missing
  kHostTree,  // source = absolute host path, a directory or a file
  kPart,  // a directory or file of the host tree around it, as it is there when the cell starts,
          // with its own access and executable. No source. Left out if it does not exist. In a
          // writable tree a file is read-only, and must have no other name. In no host tree: of the
          // image that is the root, and left out if it is a link
};

// Whose files a host tree shows.
enum class Ownership : uint8_t {
  kUnmapped,  // no uid or gid is mapped, so the kernel refuses every write, to sockets and pipes
              // too: only for the system's own read-only trees
  kMapped,    // the owner of the source appears as the cell's user (idmapped mount)
};

inline constexpr uint32_t kAnyOwner = UINT32_MAX;  // no uid

struct Entry {
  EntryKind kind = EntryKind::kDirectory;
  std::string target;  // absolute path in the cell, normalised
  std::string source;
  Access access = Access::kReadOnly;
  bool executable = false;  // false: the mount is noexec
  Ownership ownership = Ownership::kMapped;
  uint64_t size_bytes = 0;
  // Of a writable mapped host tree, not empty: a directory of the cell's own tree that takes the
  // writes instead ("upper" and "work" in it are those of an overlay; root makes what is missing).
  std::string changes;
  // Of a mapped host tree: whose it has to be to be mapped. Another's is shown as it is, if that is
  // read-only and world-readable, and else refused.
  uint32_t owner = kAnyOwner;
  // With an owner: his group, of what is written there, as of his own programs. What belongs to the
  // directory's is not his by that.
  uint32_t group = 65534;
  // Of a host tree: st_dev and st_ino of what root has to find there. inode 0: anything.
  uint64_t device = 0, inode = 0;

  friend bool operator==(const Entry&, const Entry&) = default;
};

struct Plan {
  std::string cell_id;    // [a-z0-9_]+: also the cgroup's name
  std::string cell_tree;  // directory under the cells root, "" = the cell's trees are in memory
  // Of a review cell that copies a cell's tree: the one that read-only kCellTree entries are of; it
  // has a disk if `cell_tree` has one. "" = there is none.
  std::string from_tree;
  Program program = Program::kInit;
  Network network = Network::kNone;
  Ids ids = Ids::kOne;
  uint32_t user = kCellUser;   // inside; 0 with a range alone
  uint32_t group = kCellUser;  // inside, with a range; else it is `user`
  // With a range: pid 1, and of kInit the commands, keep the capabilities of package managers, in
  // the cell's user namespace.
  bool build = false;
  bool fuse_device = false;  // for a guard: /dev/fuse and kGuardPath, hidden from commands
  uint64_t memory_bytes = 0;
  uint32_t cpu_millis = 0;
  uint32_t pids = 0;
  uint64_t tmp_bytes = 0;  // size of each in-memory tree
  // Size of the cell tree, which is a disk of its own then; 0 = directories, unbounded.
  uint64_t disk_bytes = 0;
  // Not empty: the root is an overlay of these, the lowest first, and of the cell tree's "root",
  // which takes the writes. Each is a name in kLayersTree, [0-9a-f]+. Entries lie on top of them;
  // what is at a target is covered. With a range.
  std::vector<std::string> layers;
  bool root_executable = false;  // what the image has beside its parts may be executed
  std::vector<Entry> entries;

  friend bool operator==(const Plan&, const Plan&) = default;
};

// Fixed places in every cell.
inline constexpr char kInitPath[] = "/.odyssey/cell-init";
inline constexpr char kGuardPath[] = "/.odyssey/cell-guard";  // with `fuse_device`
inline constexpr char kWorkspacePath[] = "/workspace";
inline constexpr char kCellPath[] = "/cell";      // data/home, cache, tmp, runs
inline constexpr char kReviewPath[] = "/review";  // of a review cell
inline constexpr char kLayerPath[] = "/layer";    // of a layer cell
// Cell trees of layers, kLayersTree/NAME, each with its files in kLayerFiles.
inline constexpr char kLayersTree[] = "images";
inline constexpr char kLayerFiles[] = "layer";
inline constexpr char kRootChanges[] = "root";  // of a cell tree: "upper" and "work" in it
inline constexpr int kDiskItem = -2;            // Detail::item of a failure of disk_bytes

// Root and rpc come from one build; the byte turns a mixed installation into a clear refusal.
inline constexpr uint8_t kPlanVersion = 3;

std::string EncodePlan(const Plan& plan);
// INVALID_ARGUMENT if a byte is out of place; says which field.
Result<Plan> DecodePlan(std::string_view bytes);

}  // namespace odyssey::plan

#endif  // ODYSSEY_POLICY_PLAN_PLAN_H_
