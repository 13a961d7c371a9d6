#ifndef ODYSSEY_POLICY_MODEL_REQUEST_H_
#define ODYSSEY_POLICY_MODEL_REQUEST_H_

// The one internal model of what a client asks of a cell: every dialect is read into it, the proto
// message odyssey.policy.v1.Sandbox carries it, policy/compile turns it into a plan. A value.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "policy/egress/network_policy.h"

namespace odyssey::policy {

enum class Mode { kReadOnly, kWorkspaceWrite, kDangerFullAccess };
// kEgress: the endpoints of SandboxRequest::egress, through odyssey-egress.
enum class Network { kNone, kFull, kEgress };
// From least to most. kWorkspace: kStandard, and the files of the workspace.
enum class ExecutablesMode { kExplicit, kStandard, kWorkspace, kAll };
// From least to most. kReview: the cell writes to a copy, and a person commits what they like.
enum class Access { kReadOnly, kReview, kReadWrite };
// From least to most; of a workspace that is a host directory.
enum class Writes { kReview, kDirect };
enum class Protection { kDefault, kNone };
enum class Landlock { kHardRequirement, kBestEffort };

// Which file or directory a path meant when the client opened it: st_dev and st_ino.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;  // 0: not said, and not compared
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

struct Mount {
  std::string source;  // absolute host path, resolved
  std::string target;  // absolute path in the cell
  Access access = Access::kReadOnly;
  bool executable = false;            // only with kReadOnly
  std::vector<std::string> suffixes;  // of names that file operations see; empty: any
  uint64_t max_file_bytes = 0;        // for file operations; 0: no bound
  FileIdentity identity;              // of the source
  friend bool operator==(const Mount&, const Mount&) = default;
};

// 0 = the default; one member for each row of policy_keys.h, which has the units.
struct Limits {
  uint64_t memory_bytes = 0;
  uint32_t cpu_millis = 0;
  uint32_t pids = 0;
  uint32_t wall_clock_ms = 0;
  uint32_t cpu_seconds = 0;
  uint32_t open_files = 0;
  uint64_t tmp_bytes = 0;
  uint64_t disk_bytes = 0;
  uint64_t file_bytes = 0;
  friend bool operator==(const Limits&, const Limits&) = default;
};

// A container image as the root directory of a cell; as policy.proto says.
struct ImageRoot {
  std::string reference;  // "": none
  std::string user;       // "USER[:GROUP]"; "": the image's own
  bool build = false;
  friend bool operator==(const ImageRoot&, const ImageRoot&) = default;
};

struct SandboxRequest {
  Mode mode = Mode::kWorkspaceWrite;
  Network network = Network::kNone;
  egress::NetworkPolicy egress;        // of kEgress
  std::vector<std::string> providers;  // whose credentials odyssey-egress uses for the cell
  ExecutablesMode executables_mode = ExecutablesMode::kStandard;
  std::vector<std::string> executables;
  std::vector<Mount> mounts;
  std::map<std::string, std::string> env;  // name → value
  Limits limits;
  // Those of `limits` that no person asked for: what the policy's format, or a default, filled in.
  // Another value, or 0, is one that was asked for.
  Limits unsaid_limits;
  std::string workspace;  // host directory; "" = private
  Writes workspace_writes = Writes::kDirect;
  FileIdentity workspace_identity;
  bool ephemeral = false;
  std::vector<std::string> protect;  // relative to a writable host tree: read-only there
  Protection protection = Protection::kDefault;
  std::vector<std::string> deny;  // patterns of names that nothing may open in a host tree
  Landlock landlock = Landlock::kHardRequirement;
  uint32_t user = 0;  // inside; 0: 1000
  ImageRoot image;
  friend bool operator==(const SandboxRequest&, const SandboxRequest&) = default;
};

// What the cell may do in a workspace that is a host directory.
inline Access WorkspaceAccess(const SandboxRequest& request) {
  if (request.mode == Mode::kReadOnly) return Access::kReadOnly;
  return request.workspace_writes == Writes::kReview ? Access::kReview : Access::kReadWrite;
}

// Whether its commands run on the host itself, unconfined.
inline bool IsDanger(const SandboxRequest& request) {
  return request.mode == Mode::kDangerFullAccess;
}

// Whether a host directory is written on a copy.
inline bool HasReviewedWrites(const SandboxRequest& request) {
  if (!request.workspace.empty() && WorkspaceAccess(request) == Access::kReview) return true;
  for (const Mount& mount : request.mounts) {
    if (mount.access == Access::kReview) return true;
  }
  return false;
}

// Every host directory that the request would write to is written on a copy instead.
inline void ReviewAllWrites(SandboxRequest* request) {
  request->workspace_writes = Writes::kReview;
  for (Mount& mount : request->mounts) {
    if (mount.access == Access::kReadWrite) mount.access = Access::kReview;
  }
}

// The most that a policy may have a tool keep of stdout, and of stderr.
inline constexpr uint64_t kMaxOutputBytes = uint64_t{64} << 20;

}  // namespace odyssey::policy

#endif  // ODYSSEY_POLICY_MODEL_REQUEST_H_
