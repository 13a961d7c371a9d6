#ifndef ODYSSEY_CTL_POLICY_EXPLAIN_H_
#define ODYSSEY_CTL_POLICY_EXPLAIN_H_

#include <functional>
#include <string>

#include "common/base/status.h"
#include "ctl/base/console.h"
#include "ctl/policy/policy_asker.h"
#include "policy/dialect/policy.h"
#include "policy/model/request.h"

namespace odyssey::ctl {

// A request, and what it came of.
struct Explained {
  policy::SandboxRequest request;
  const dialect::Policy* policy = nullptr;  // nullptr: there was no file
  const dialect::Origins& origins;          // where what is refused of the request is written
  // Changes the request that the status refuses; false: it stays.
  std::function<bool(const Status&, policy::SandboxRequest*)> change = {};
};

// The question about a request: with what is seen here at its paths, and without the values of the
// variables that look like secrets.
answer::Question QuestionAbout(const policy::SandboxRequest& request, const dialect::Policy* policy,
                               const ceiling::Owner& owner);

// Asks what the request comes to and prints the plan, each line with why it is there, the ceiling,
// and who answered. Makes no cell. Before it, what the policy's file is and what of it is no part
// of a cell. With danger_full_access also what else that needs, and all of this even if the ceiling
// refuses it, which is an error then. With -o json one object is printed, also of what is refused:
// its verdict, its problems. Errors name the places where it is written.
Status PrintPlan(const Console& console, Explained explained, const PolicyAsker& asker);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_POLICY_EXPLAIN_H_
