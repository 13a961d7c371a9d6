#ifndef ODYSSEY_AGENTD_DAEMON_OPTIONS_H_
#define ODYSSEY_AGENTD_DAEMON_OPTIONS_H_

// The command line of odyssey-agentd. Pure.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agentd/session/retention.h"
#include "common/base/status.h"

namespace odyssey::daemon {

struct Options {
  std::string state;
  std::string socket;
  std::string supervisor_socket;
  std::set<uid_t> allowed_uids;          // beside our own and 0
  std::optional<uid_t> http_uid;         // odyssey-http's, whose calls come with tokens
  std::string allow_group, admin_group;  // a name or a gid; empty: none
  int listener = -1;                     // an inherited listening socket; -1: `socket` is made
  std::string settings;                  // where SIGHUP reads the options anew; "": nowhere
  size_t workers = 4;
  size_t queue = 128;
  size_t queue_total = 10'000;
  std::map<std::string, std::string> model_key_files, model_base_urls;  // by provider
  std::string policy_directory = "/etc/odyssey/policy.d";
  std::string prices = "/etc/odyssey/prices.yaml";
  std::chrono::seconds approval_timeout{0};                    // 0: none
  std::chrono::seconds idle_cell{900};                         // 0: never
  uint64_t journal_max_bytes = session::kDefaultJournalBytes;  // of a session; 0: no bound
  std::chrono::seconds journal_keep{0};                        // 0: for ever
  std::chrono::seconds drain{0};                               // what running turns get at SIGTERM
  std::string metrics_listen;                                  // ADDRESS:PORT; empty: none
  std::string approval_command;                                // empty: none
  std::string approval_webhook;                                // a URL; empty: none
  std::string approval_webhook_token_file, approval_webhook_ca;
  // "ask" or "deny"; empty: "deny".
  std::string approval_command_fallback, approval_webhook_fallback;
  std::map<std::string, std::vector<std::string>> given;  // the values by option, as written
  bool help = false;
  bool version = false;
};

// INVALID_ARGUMENT names the option, the value and what is allowed.
Result<Options> ParseOptions(const std::vector<std::string>& arguments);

// The text of --help.
std::string Usage();

}  // namespace odyssey::daemon

#endif  // ODYSSEY_AGENTD_DAEMON_OPTIONS_H_
