#ifndef ODYSSEY_CTL_POLICY_PROJECT_APPROVAL_H_
#define ODYSSEY_CTL_POLICY_PROJECT_APPROVAL_H_

// A project's own file may take away from what its user has said himself. What it adds counts once
// the user has approved it, and only for the very policy that he approved.

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "ctl/base/command.h"
#include "policy/dialect/policy.h"

namespace odyssey::ctl {

// What a project's file adds.
struct ProjectAsk {
  std::string directory;
  std::vector<std::string> added;  // a line each: FILE:LINE: KEY: value
  // Of the whole policy that comes of it, the file's bytes, the directory, the user, and what is
  // built. Values of the user's own variables are no part of it: they may change.
  std::string fingerprint;
};

// What a project brings beside its policy and would have built.
struct ProjectBuild {
  std::string directory;  // the project's
  std::string line;       // for people: what is built, and of what
  std::string digest;     // of all that goes into it
  bool is_whole = true;   // false: but the images that are pulled once it is approved
};

// Nothing where the policy is no project's, or its file adds nothing, and nothing is built (null).
// Pure.
Result<std::optional<ProjectAsk>> AskOf(const dialect::Policy& policy, uid_t user,
                                        const ProjectBuild* build = nullptr);

// The fingerprints that users approved for good, in a directory that no cell is ever shown: root's,
// in the supervisor's state.
class ProjectApprovals final {
 public:
  explicit ProjectApprovals(const Locations& locations);
  bool Has(const ProjectAsk& ask) const;
  Status Keep(const ProjectAsk& ask, uid_t user) const;

 private:
  std::string PathOf(const ProjectAsk& ask) const;
  const std::string directory_;
};

enum class ProjectAnswer { kOnce, kAlways, kNo };

// "y" or "Y" once, "t" or "T" always; anything else is no.
ProjectAnswer ParseProjectAnswer(std::string_view line);

// Whether this environment approves by itself: ODEK_APPROVE_PROJECT_SANDBOX=1.
bool IsApprovedByEnvironment(const std::optional<std::string>& value);

// OK where the policy asks for nothing, or was approved. Otherwise asks the user on his terminal;
// without one, PERMISSION_DENIED says what the file adds, and how to approve it. kAlways: the user
// has approved it for good now; where a build is not whole, KeepApproval is to keep that.
Result<ProjectAnswer> ApproveProject(const Console& console, const dialect::Policy& policy,
                                     uid_t user, const Locations& locations,
                                     const ProjectBuild* build = nullptr);

// Keeps what the user has approved for good, once its build is whole.
Status KeepApproval(const dialect::Policy& policy, uid_t user, const Locations& locations,
                    const ProjectBuild& build);

// How `policy check` answers: nothing, or what has to be approved first.
Result<std::string> PendingApproval(const dialect::Policy& policy, uid_t user,
                                    const Locations& locations);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_POLICY_PROJECT_APPROVAL_H_
