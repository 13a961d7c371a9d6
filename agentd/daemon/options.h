#ifndef ODYSSEY_AGENTD_DAEMON_OPTIONS_H_
#define ODYSSEY_AGENTD_DAEMON_OPTIONS_H_

// The command line of odyssey-agentd. Pure.

#include <sys/types.h>

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace odyssey::daemon {

struct Options {
  std::string state;
  std::string socket;
  std::string supervisor_socket;
  std::set<uid_t> allowed_uids;  // beside our own and 0
  size_t workers = 4;
  size_t queue = 128;
  size_t queue_total = 10'000;
  std::map<std::string, std::string> model_key_files, model_base_urls;  // by provider
  std::string policy_directory = "/etc/odyssey/policy.d";
  std::chrono::seconds approval_timeout{0};  // 0: none
  std::chrono::seconds idle_cell{900};       // 0: never
  std::string approval_command;              // empty: none
  std::string approval_fallback;             // "ask" or "deny"; empty: "deny"
  bool help = false;
  bool version = false;
};

// INVALID_ARGUMENT names the option, the value and what is allowed.
Result<Options> ParseOptions(const std::vector<std::string>& arguments);

// The text of --help.
std::string Usage();

}  // namespace odyssey::daemon

#endif  // ODYSSEY_AGENTD_DAEMON_OPTIONS_H_
