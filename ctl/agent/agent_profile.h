#ifndef ODYSSEY_CTL_AGENT_AGENT_PROFILE_H_
#define ODYSSEY_CTL_AGENT_AGENT_PROFILE_H_

// How an agent of others is run in a cell, as a file says: its program, its variables, the files of
// its home, its policy. Pure.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ctl/policy/exec_options.h"
#include "policy/dialect/node.h"
#include "policy/dialect/policy.h"
#include "policy/dialect/problem.h"

namespace odyssey::ctl {

struct AgentProfile {
  std::string file;
  std::string summary;
  std::string command;                // of the program on a search path
  std::string package;                // of npm
  std::vector<std::string> programs;  // below node_modules, in the order in which they are tried
  uint64_t node = 0;                  // the least major version that runs a script of `programs`
  std::string api;                    // what it speaks with models
  std::string server;                 // what it asks with a key of the user's; a URL
  std::string model;
  std::string key;  // the variable in which it looks for its key
  // What follows may hold ${…}.
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> arguments;  // before the person's
  std::vector<HomeFile> files;
  dialect::Node policy;  // of the dialect odyssey.policy/v1
};

// What ${NAME} stands for.
using ProfileValues = std::map<std::string, std::string>;
inline constexpr std::string_view kProfileValues[] = {"host", "path",    "key",   "model",
                                                      "node", "program", "server"};

// nullopt beside problems, which name file, line and key.
std::optional<AgentProfile> ReadProfile(std::string_view text, const std::string& file,
                                        dialect::Problems* problems);

// With every ${NAME} replaced. `values` has each of kProfileValues.
AgentProfile FillProfile(AgentProfile profile, const ProfileValues& values);

// The policy of a profile that is filled.
std::optional<dialect::Policy> ReadProfilePolicy(const AgentProfile& profile,
                                                 const dialect::PolicyContext& context,
                                                 dialect::Problems* problems);

// "https://HOST[/PATH]" in two; the path is "" or begins with a slash. INVALID_ARGUMENT: no such
// URL.
struct ServerPlace {
  std::string host, path;
};
Result<ServerPlace> ParseServer(const std::string& url);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_AGENT_AGENT_PROFILE_H_
