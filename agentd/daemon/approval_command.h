#ifndef ODYSSEY_AGENTD_DAEMON_APPROVAL_COMMAND_H_
#define ODYSSEY_AGENTD_DAEMON_APPROVAL_COMMAND_H_

// Runs the operator's command for each request for approval, and gives its answer.

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "agentd/approval/registry.h"
#include "common/base/status.h"
#include "common/os/unique_fd.h"

namespace odyssey::daemon {

struct ApprovalCommandOptions {
  std::string path;
  bool fallback_ask =
      false;  // what has no answer of the command's waits for a client, else: denied
  std::chrono::milliseconds timeout = std::chrono::seconds(60);
};

// A file that may be executed. INVALID_ARGUMENT: it is none.
Status CheckApprovalCommand(const std::string& path);

// Each command is a process group of its own with the question on stdin
// (approval/command_answer.h), an environment of PATH and LANG, and no other descriptor of
// agentd's. It is killed when the question is answered or taken back, after the timeout, and by the
// destructor. The process is to ignore SIGPIPE.
class ApprovalCommand final {
 public:
  // `registry` is borrowed. `on_failure` gets why a command gave no answer, from a thread of its
  // own.
  ApprovalCommand(
      approval::Registry* registry, ApprovalCommandOptions options,
      std::function<void(const std::string& request_id, const std::string& why)> on_failure);

 private:
  struct Run {
    std::string request_id;
    pid_t pid = -1;
    UniqueFd process, input, output;
    std::string unsent, answer;
    std::chrono::steady_clock::time_point deadline;
  };

  void Watch(const std::stop_token& stop);
  void StartNew();
  Result<Run> Start(const approval::Question& question) const;
  bool Advance(Run& run);
  void Settle(const std::string& request_id, Result<approval::Answer> answer);
  void Wait();

  approval::Registry* const registry_;
  const ApprovalCommandOptions options_;
  const std::function<void(const std::string&, const std::string&)> on_failure_;
  const std::shared_ptr<const UniqueFd> wake_;  // the registry may keep it for longer
  // Of the thread.
  uint64_t seen_ = 0;  // ordinal of the last question that was looked at
  std::vector<Run> running_;
  std::jthread thread_;
};

}  // namespace odyssey::daemon

#endif  // ODYSSEY_AGENTD_DAEMON_APPROVAL_COMMAND_H_
