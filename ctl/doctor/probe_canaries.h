#ifndef ODYSSEY_CTL_DOCTOR_PROBE_CANARIES_H_
#define ODYSSEY_CTL_DOCTOR_PROBE_CANARIES_H_

// What the host lays out for odyssey-probe to look for, and how it sees afterwards that nothing of
// it was found. Runs as root.

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "ctl/doctor/probe_listeners.h"
#include "ctl/doctor/probe_report.h"
#include "ctl/doctor/probe_snapshot.h"

namespace odyssey::ctl {

class ProbeCanaries final {
 public:
  struct Layout {
    std::string directory;                     // exists and is empty
    std::string program;                       // odyssey-probe
    std::vector<std::string> protected_names;  // files of the workspace; a name ending in / is a
                                               // directory
  };

  // In `directory`: outside/ and what is in it, shown to no cell; ro/, rw/, bin/ and workspace/, to
  // be mounted. Beside them a process, IPC, a key, a terminal. Caller must be single-threaded, and
  // gets a session keyring of its own.
  static Result<std::unique_ptr<ProbeCanaries>> Lay(const Layout& layout);
  // Takes away what is not a file; the directory is the caller's.
  ~ProbeCanaries();
  ProbeCanaries(const ProbeCanaries&) = delete;
  ProbeCanaries& operator=(const ProbeCanaries&) = delete;

  // What odyssey-probe is told of them, as supervisor/probe/targets.h names it.
  std::vector<std::string> Words() const;
  // "NAME=value": for the environment of a supervisor that is started for this.
  std::string Variable() const;
  // A file that a careless launcher would leave open.
  std::string Secret() const { return directory_ + "/outside/secret"; }

  // What of the host a cell touched. `network_full`: its loopback was the cell's, so that what
  // listens there has to have heard.
  std::vector<ProbeResult> Check(const std::string& cell, bool network_full);

 private:
  ProbeCanaries(std::string directory, ProbeListeners listeners);

  Status LayFiles(const Layout& layout);
  Status LayFilesOfRoot();  // that only root can make
  Status LayWorkspace(const std::vector<std::string>& names);
  Status LayIpc();
  Status LayKey();
  Status LayTerminal();
  Status StartProcess();
  Status CheckIpc() const;
  Status CheckKey() const;
  Status CheckProcess() const;

  const std::string directory_;
  const std::string mark_;  // in every name, which makes it unique
  ProbeListeners listeners_;
  std::vector<std::string> protected_;
  Snapshot files_;
  Snapshot sysctls_;
  UniqueFd terminal_;
  int terminal_number_ = -1;
  pid_t process_ = -1;
  int ipc_key_ = 0;
  int segment_ = -1;
  int semaphores_ = -1;
  int queue_ = -1;
  long key_ = -1;  // -1: this kernel has none
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_DOCTOR_PROBE_CANARIES_H_
