#ifndef ODYSSEY_CTL_BACKUP_BACKUP_H_
#define ODYSSEY_CTL_BACKUP_BACKUP_H_

// What a backup holds: names as below the state directory, and "manifest.json", the last entry,
// with the digest of every file.

#include <string>
#include <vector>

#include "ctl/base/console.h"
#include "ctl/base/state_layout.h"
#include "ctl/settings/setting.h"

namespace odyssey::ctl {

inline constexpr char kBackupManifest[] = "manifest.json";
inline constexpr char kBackupFormat[] = "odyssey.backup/v1";
inline constexpr size_t kMaxManifestBytes = 512 << 20;

// A part of the state: a directory or a file, with all below it.
struct BackupPart {
  std::string name;
  Identity owner;
  bool secret = false;  // only with --with-secrets
};

inline std::vector<BackupPart> BackupParts(const DaemonIdentities& ids) {
  const Identity root;
  std::vector<BackupPart> out = {{"agentd", ids.agentd},
                                 {"supervisor/project_approvals", root},
                                 {"policy.d", root},
                                 {"prices.yaml", root},
                                 {"danger_full_access", root},
                                 {"inference.yaml", root},
                                 {"egress", ids.egress, /*secret=*/true}};
  for (const DaemonSettings& daemon : AllSettings()) {
    for (const char* suffix : {".yaml", ".d"}) {
      out.push_back({std::string(daemon.name) + suffix, root});
    }
  }
  return out;
}

inline bool IsBelow(const std::string& name, const std::string& part) {
  return name == part || name.rfind(part + "/", 0) == 0;
}

// What was written, or put back.
struct BackupSummary {
  size_t sessions = 0;
  size_t files = 0;
  uint64_t bytes = 0;
  bool secrets = false;
};

// Writes the state in `layout` to `fd`. Daemons may run: the files of a session are copied as they
// were at one moment. UNAVAILABLE: a session's files changed at every attempt. Runs as root.
Result<BackupSummary> WriteBackup(const StateLayout& layout, bool with_secrets, int fd);

// Reads a backup from `fd` into a state in which no daemon runs and that has no sessions, bundles
// or configuration. Whole or not at all, but for what a crash leaves in STATE/restore.new. Runs as
// root.
Result<BackupSummary> RestoreBackup(const StateLayout& layout, int fd);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_BACKUP_BACKUP_H_
