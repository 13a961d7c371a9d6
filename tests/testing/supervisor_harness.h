#ifndef ODYSSEY_TESTS_TESTING_SUPERVISOR_HARNESS_H_
#define ODYSSEY_TESTS_TESTING_SUPERVISOR_HARNESS_H_

// A real supervisor of a test's own, on state in a temporary directory, and a client of it. Needs
// root. Nothing here knows how the supervisor works inside.

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "odyssey/supervisor/v1/supervisor.grpc.pb.h"

namespace odyssey::testing {

namespace v1 = ::odyssey::supervisor::v1;

// The directory of the programs under test, beside the directory of the tests.
std::string ProgramDirectory();

struct ExecResult {
  Status status;  // of the call
  v1::ExecOutcome outcome;
  std::vector<v1::Denial> denials;
  std::string out, err;
  std::string run_id;

  bool Exited(int code) const {
    return status.ok() && outcome.kind() == v1::OUTCOME_KIND_EXITED && outcome.exit_code() == code;
  }
  // For failure messages.
  std::string ToString() const;
};

struct ExecOptions {
  std::string cwd;
  std::map<std::string, std::string> env;
  std::string input;  // sent as stdin, then closed; "" = /dev/null
  bool terminal = false;
  uint32_t wall_clock_ms = 120'000;  // kHang
  uint64_t stdout_cap = 0;
  std::string run_id;
  bool keep_output = false;
};

class SupervisorHarness final {
 public:
  // Starts odyssey-supervisor and waits until it is ready. Its cells' uids are its own, so that
  // tests may run side by side.
  // `danger_grants`: the text of a grant file of danger_full_access; "": there is none.
  explicit SupervisorHarness(const std::string& danger_grants = "");
  // Stops it, and fails the test if it leaves a process, control group or socket.
  ~SupervisorHarness();
  SupervisorHarness(const SupervisorHarness&) = delete;
  SupervisorHarness& operator=(const SupervisorHarness&) = delete;

  // Starts it again, on the same directories, after KillKeeper. False if it does not become ready.
  bool Restart();
  // kill -9; what it leaves is the test's to look at.
  void KillKeeper();

  // A request with workspace_write, network none, standard executables, in memory.
  static v1::PrepareCellRequest Request(const std::string& component);

  Result<v1::CellInfo> Prepare(const v1::PrepareCellRequest& request);
  Status Check(const v1::PrepareCellRequest& request);
  // Prepares or fails the test; the cell id.
  std::string Cell(const v1::PrepareCellRequest& request);
  std::string Cell() { return Cell(Request("test")); }

  ExecResult Exec(const std::string& cell_id, const std::vector<std::string>& argv,
                  const ExecOptions& options = {});
  // sh -c in the cell.
  ExecResult Shell(const std::string& cell_id, const std::string& script,
                   const ExecOptions& options = {});
  ExecResult Python(const std::string& cell_id, const std::string& script,
                    const ExecOptions& options = {});

  Status Remove(const std::string& cell_id, bool purge = true);

  // For tests of cells with denied names: "" where this machine has FUSE. Where it has not, what it
  // answered instead; the test fails unless such a cell is refused and says so.
  std::string WhyNoDeniedNames();
  v1::Supervisor::Stub* stub() { return stub_.get(); }

  const std::string& directory() const { return directory_; }
  std::string socket() const { return directory_ + "/run/supervisor.sock"; }
  std::string audit_directory() const { return directory_ + "/state/audit"; }
  // Of the operator's ceiling; not there unless the test makes it.
  std::string policy_directory() const { return directory_ + "/policy.d"; }
  // Of danger_full_access; not there unless the constructor was told what it says.
  std::string danger_grant_file() const { return directory_ + "/danger_full_access"; }
  pid_t keeper() const { return pid_; }
  pid_t worker() const;  // the keeper's child
  pid_t rpc() const;     // the worker's child that is no cell
  // Every process on the host whose real uid is `uid`.
  static std::vector<pid_t> ProcessesOf(uid_t uid);
  // … and those of every uid that this supervisor may give to a cell.
  std::vector<pid_t> CellProcesses() const;
  // Control groups below this supervisor's that hold no process, or one that is not root's. Root's
  // are launchers, ready for the next cell.
  std::vector<std::string> CellGroups() const;
  // What odyssey-supervisor wrote to stderr.
  std::string Log() const;

 private:
  bool Start();

  std::string directory_;
  uid_t uid_base_ = 0;
  pid_t pid_ = -1;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Supervisor::Stub> stub_;
};

// How long a test waits for what must happen before it calls it a hang. No measure of speed: what
// works takes a small part of it on a slow machine that has other work.
inline constexpr std::chrono::seconds kHang{120};

// Calls `done` until it is true, at most kHang; for what other processes do in their own time.
bool Eventually(const std::function<bool()>& done);

// A command that has to be cut off at its wall clock, but not before it has got somewhere: calls
// `attempt` with longer and longer ones, until it returns true. Fails the test if it never does.
void WithTimeEnough(const std::function<bool(uint32_t wall_clock_ms)>& attempt);

// Sends a signal to one process; refuses anything but the number of one, since a test runs as root
// and kill(2) takes -1, what a failed search returns, for every process there is.
bool SignalProcess(pid_t pid, int signal);

// By /proc; -1 if there is no such process.
pid_t ParentOf(pid_t pid);
// Children of `parent`, by /proc.
std::vector<pid_t> ChildrenOf(pid_t parent);
// /proc/PID/comm, "" if there is no such process.
std::string CommandName(pid_t pid);
// Directories named after the keeper in any cgroup hierarchy.
std::vector<std::string> CgroupsOf(pid_t keeper);

}  // namespace odyssey::testing

#endif  // ODYSSEY_TESTS_TESTING_SUPERVISOR_HARNESS_H_
