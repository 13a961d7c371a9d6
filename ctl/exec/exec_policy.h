#ifndef ODYSSEY_CTL_EXEC_EXEC_POLICY_H_
#define ODYSSEY_CTL_EXEC_EXEC_POLICY_H_

// What `exec --policy` and `session exec --policy` share.

#include "common/base/status.h"
#include "ctl/base/console.h"
#include "ctl/base/locations.h"
#include "ctl/base/option_parser.h"
#include "ctl/file/named_place.h"
#include "ctl/policy/exec_options.h"
#include "ctl/policy/policy_asker.h"
#include "odyssey/policy/v1/policy.pb.h"

namespace odyssey::ctl {

// What of a policy has to be known before its cell is asked for: whether the client may take its
// variables that look like secrets, and whether the directories that llm-do makes if they are
// missing would be shown. Nothing is made that the cell would not be shown: why not the supervisor
// says when it is asked for the cell. What was made is what is mounted.
Status AskAboutPolicy(const PolicyAsker& asker, NamedPlaces* places, ExecOptions* options);

// A policy for a command in directories that there are already, which are its workspace.
struct OwnPolicy {
  policy::v1::Sandbox sandbox;
  dialect::Origins origins;
};

// Reads --policy for this user, asks the user what has to be approved, makes its image be there,
// and warns of a workspace that the policy names. Returns kExitOk, or what to end with: has
// reported. Caller keeps `inputs.places`, which hold what is mounted, until the command begins.
// Caller must be single-threaded.
int ReadOwnPolicy(const Console& console, const ParsedOptions& options, const ExecInputs& inputs,
                  const Locations& locations, OwnPolicy* out);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_EXEC_EXEC_POLICY_H_
