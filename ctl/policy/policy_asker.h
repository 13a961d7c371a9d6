#ifndef ODYSSEY_CTL_POLICY_POLICY_ASKER_H_
#define ODYSSEY_CTL_POLICY_POLICY_ASKER_H_

// What evaluates a policy: the supervisor, as it would make the cell (CheckPolicy); where
// none answers, the same function (policy/answer) over the facts of this machine.

#include <string>
#include <vector>

#include "common/base/status.h"
#include "ctl/base/console.h"
#include "ctl/base/locations.h"
#include "ctl/base/option_parser.h"
#include "policy/answer/answer.h"
#include "policy/ceiling/ceiling.h"

namespace odyssey::ctl {

struct AnsweredBy {
  std::string supervisor;  // its socket; "": none answered
  std::string why;         // … and why not
};

class PolicyAsker final {
 public:
  // --ceiling and --user.
  static std::vector<OptionSpec> Options();

  // Under those options; else for the user of this program, under the daemons' ceiling. No
  // supervisor is asked about a ceiling that is not its own.
  static Result<PolicyAsker> FromOptions(const ParsedOptions& options, const Locations& locations);
  PolicyAsker(ceiling::Owner owner, const Locations& locations);

  const ceiling::Owner& owner() const { return owner_; }
  const Locations& locations() const { return locations_; }

  // `by`: who answered. An error is a ceiling that cannot be read.
  Result<answer::Answer> Ask(const answer::Question& question, AnsweredBy* by) const;
  Result<answer::CeilingText> AskCeiling(AnsweredBy* by) const;

 private:
  Result<answer::Answer> AskSupervisor(const answer::Question* question, AnsweredBy* by) const;
  Result<answer::Answer> AnswerHere(const answer::Question* question) const;
  Result<answer::Answer> AskOf(const answer::Question* question, AnsweredBy* by) const;

  ceiling::Owner owner_;
  Locations locations_;
  std::string ceiling_;  // --ceiling, "" if not given
};

// "answered by the supervisor at SOCKET", or by this machine's facts, and why: a line for people.
void PrintAnsweredBy(const Console& console, const AnsweredBy& by);
Json AnsweredByAsJson(const AnsweredBy& by);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_POLICY_POLICY_ASKER_H_
