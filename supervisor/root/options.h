#ifndef ODYSSEY_SUPERVISOR_ROOT_OPTIONS_H_
#define ODYSSEY_SUPERVISOR_ROOT_OPTIONS_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "common/base/status.h"

namespace odyssey::root {

// odyssey-supervisor --state DIR --run DIR [--rpc-user UID] [--client-uid UID]… [--uid-base N]
//                    [--bundle-store DIR] [--danger-grants FILE] [--policy DIR] [--listen-fd N]
//                    [--rootless UID] [-- ARGUMENT OF RPC…]
struct Options {
  std::string state_directory;
  std::string run_directory;
  uid_t rpc_uid = 0x6fff0001;      // where no system user "odyssey-rpc" exists
  std::vector<uid_t> client_uids;  // may connect, beside root
  uid_t uid_base =
      0x70000000;  // owns the cells' directories; far above what adduser and containers hand out
  uid_t first_uid = 0;  // live cells have first + 1 and up; set by the keeper
  // Not 0: who runs this, in a user namespace that maps that uid alone; then it is the uid of rpc,
  // of cells' directories, and of every cell.
  uid_t rootless_uid = 0;
  std::string bundle_store;  // "" = none
  // The operator's ceiling, for rpc: root looks at none of it.
  std::string policy_directory = "/etc/odyssey/policy.d";
  std::string program_directory;  // where our sibling programs are
  std::string danger_grants;      // file of grants of host execution; "" = no grants
  int listener = -1;              // an inherited listening socket; -1: RUN/supervisor.sock is made
  std::vector<std::string> rpc_arguments;  // root looks at none of them
  char** argv = nullptr;                   // what all of this was read from
};

// INVALID_ARGUMENT names the option, the value and what is allowed.
Result<Options> ParseOptions(int argc, char** argv);

}  // namespace odyssey::root

#endif  // ODYSSEY_SUPERVISOR_ROOT_OPTIONS_H_
