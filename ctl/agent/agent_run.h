#ifndef ODYSSEY_CTL_AGENT_AGENT_RUN_H_
#define ODYSSEY_CTL_AGENT_AGENT_RUN_H_

// The options of `agent run` and a profile, as what `exec` runs.

#include <vector>

#include "ctl/agent/agent_program.h"
#include "ctl/base/console.h"
#include "ctl/base/option_parser.h"
#include "ctl/policy/exec_options.h"

namespace odyssey::ctl {

// --program and --node.
std::vector<OptionSpec> ProgramOptionSpecs();
// Those, --model, --key and --server, and the options of `exec` that keep what a profile is for.
std::vector<OptionSpec> AgentRunOptionSpecs();

ProgramSearch SearchOf(const ParsedOptions& options, NamedPlaces* places);

// What is run of a profile, under the options. Pure.
struct AgentCall {
  AgentProfile profile;  // filled
  std::vector<std::string> argv;
};
// INVALID_ARGUMENT names the option.
Result<AgentCall> MakeAgentCall(const AgentProfile& profile, const AgentProgram& program,
                                const ParsedOptions& options);

// Finds profile and program, and reads the rest as `exec` does, with `inputs`.
Result<ExecOptions> ReadAgentRun(const ParsedOptions& options, const Console& console,
                                 ExecInputs* inputs);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_AGENT_AGENT_RUN_H_
