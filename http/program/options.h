#ifndef ODYSSEY_HTTP_PROGRAM_OPTIONS_H_
#define ODYSSEY_HTTP_PROGRAM_OPTIONS_H_

// The command line of odyssey-http. Pure.

#include <string>
#include <vector>

#include "common/base/status.h"
#include "http/front/server.h"

namespace odyssey::program {

struct Options {
  std::string agentd_socket;
  front::Address listen = {"127.0.0.1", 8472, true};
  int listener = -1;                    // an inherited listening socket; -1: `listen` is made
  std::vector<std::string> host_names;  // beside those of loopback
  bool non_loopback = false;            // other addresses than loopback's are allowed
  std::string address_file;             // where the address is written; "": nowhere
  std::string mcp_bundle;               // of /mcp; "": none
  bool help = false;
  bool version = false;
};

// INVALID_ARGUMENT names the option, the value and what is allowed.
Result<Options> ParseOptions(const std::vector<std::string>& arguments);
// The same of an address that is another host's to reach.
Status CheckAddress(const front::Address& address, const Options& options);

// The text of --help.
std::string Usage();

}  // namespace odyssey::program

#endif  // ODYSSEY_HTTP_PROGRAM_OPTIONS_H_
