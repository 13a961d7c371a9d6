#include "ctl/changes/direct_writes.h"

#include "ctl/base/sanitize.h"
#include "ctl/file/named_place.h"

namespace odyssey::ctl {

std::vector<std::string> DirectlyWritten(const policy::SandboxRequest& sandbox) {
  std::vector<std::string> out;
  if (policy::IsDanger(sandbox)) return out;
  const bool direct = policy::WorkspaceAccess(sandbox) == policy::Access::kReadWrite;
  if (direct && !sandbox.workspace.empty()) out.push_back(sandbox.workspace);
  for (const policy::Mount& mount : sandbox.mounts) {
    if (mount.access == policy::Access::kReadWrite) out.push_back(mount.source);
  }
  return out;
}

std::vector<std::string> DirectWriteLines(const std::vector<std::string>& directories) {
  std::vector<std::string> lines;
  for (const std::string& directory : directories) {
    const Walk repository = WalkPath(directory + "/.git");
    if (!repository.place && !repository.last_is_link) continue;
    lines.push_back("writes to " + Sanitize(directory, Lines::kOne) +
                    " are direct: a command can leave what git or an editor obeys later; "
                    "--review keeps its changes apart until they are committed");
  }
  return lines;
}

void WarnOfDirectWrites(const Console& console, const std::vector<std::string>& directories) {
  if (!console.err_is_terminal || console.json) return;
  for (const std::string& line : DirectWriteLines(directories)) {
    console.Warn("odyssey-ctl: " + line);
  }
}

}  // namespace odyssey::ctl
