#ifndef ODYSSEY_CTL_CEILING_VIEW_H_
#define ODYSSEY_CTL_CEILING_VIEW_H_

// The operator's ceiling as a client sees it: to tell beforehand what the supervisor will say. The
// supervisor reads the same files and decides.

#include <sys/types.h>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "ctl/console.h"
#include "ctl/locations.h"
#include "ctl/option_parser.h"
#include "policy/ceiling/check.h"
#include "policy/dialect/policy.h"
#include "policy/rules/tool_rules.h"

namespace odyssey::ctl {

struct CeilingView {
  std::string directory;
  ceiling::Ceiling ceiling;
  ceiling::Asker asker;
};

// --ceiling and --user.
std::vector<OptionSpec> CeilingOptionSpecs();

// Those options; else the directory that the daemons of `locations` read, and whoever runs this.
Result<CeilingView> LoadCeilingView(const ParsedOptions& options, const Locations& locations);
Result<CeilingView> LoadCeilingView(uid_t owner, const Locations& locations);

// The names of this process's environment that look like secrets and are granted to the user.
std::set<std::string> GrantedSecrets(const CeilingView& view);

// PERMISSION_DENIED for the first variable of the client's that the file takes, that looks like a
// secret and is not granted to the user, whether or not the client has it. Names env.TARGET.
Status CheckSecrets(const CeilingView& view, const std::vector<dialect::SecretVariable>& secrets);

// For people, a line each: where it comes from, its rules, and by which of them each thing that the
// rulings are about is granted.
void PrintCeiling(const Console& console, const CeilingView& view,
                  const std::vector<ceiling::Ruling>& rulings);
Json CeilingAsJson(const CeilingView& view, const std::vector<ceiling::Ruling>& rulings);

// Adds to the rule of a decision that allows the one of the ceiling by which it may, of those that
// grant what `concerns` is true of: the one of the nearest place.
void AddGrant(const CeilingView& view, const policy::SandboxRequest& request,
              const std::function<bool(const ceiling::Ruling&)>& concerns,
              rules::Decision* decision);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_CEILING_VIEW_H_
