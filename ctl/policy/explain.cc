#include "ctl/policy/explain.h"

#include <unistd.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "ctl/base/sanitize.h"
#include "ctl/file/seen_places.h"
#include "ctl/policy/ceiling_view.h"
#include "ctl/policy/policy_file.h"
#include "ctl/policy/policy_json.h"
#include "policy/dialect/approvals.h"

namespace odyssey::ctl {

namespace {

// Whether or not the cell can be made: what was read, and what a cell does not do about it.
void PrintFile(const Console& console, const dialect::Policy& policy) {
  console.PrintLine("policy " + std::string(dialect::DialectName(policy.dialect)));
  for (const std::string& path : policy.also_read) {
    console.PrintLine("also read " + Sanitize(path, Lines::kOne));
  }
  for (const std::string& line : policy.elsewhere) {
    console.PrintLine("not part of the cell: " + Sanitize(line, Lines::kOne));
  }
  for (const dialect::Approval& approval : policy.approvals) {
    console.PrintLine("waits for approval in a session: " +
                      Sanitize(dialect::ToString(approval), Lines::kOne));
  }
}

Json FileAsJson(const dialect::Policy& policy) {
  Json out = {{"dialect", dialect::DialectName(policy.dialect)},
              {"also_read", policy.also_read},
              {"warnings", WarningsAsJson(policy.warnings)},
              {"not_part_of_the_cell", policy.elsewhere}};
  if (!dialect::IsBundle(policy.dialect)) return out;
  out["waits_for_approval"] = Json::array();
  for (const dialect::Approval& approval : policy.approvals) {
    out["waits_for_approval"].push_back({{"agent", approval.agent},
                                         {"rule", approval.rule},
                                         {"tools", approval.tools},
                                         {"why", approval.why},
                                         {"file", approval.place.file},
                                         {"line", approval.place.line},
                                         {"key", approval.place.key}});
  }
  return out;
}

// Of what danger_full_access needs, what is not in the request: each must hold. The grant file
// stands beside the ceiling.
std::vector<std::string> DangerNeeds(const ceiling::Owner& owner, const Locations& locations) {
  const std::filesystem::path ceiling = locations.policy_directory;
  const std::string file = ceiling.parent_path() / "danger_full_access";
  const std::string none =
      access(file.c_str(), F_OK) == 0 ? "" : "; there is none, so no user has it";
  return {"needs the operator's grant file " + file + " to name " + owner.name + " or " +
              std::to_string(owner.uid) + none,
          "needs the operator's ceiling to grant mode danger_full_access and network full",
          "needs the person's own word, in this call or when the session is made: "
          "--dangerous-sandbox-mode"};
}

Json OutcomeAsJson(const answer::Answer& answer, const Explained& asked,
                   const ceiling::Owner& owner, const std::vector<std::string>& needs) {
  Json out = {{"verdict", VerdictName(answer.verdict)},
              {"problems", ProblemsAsJson(ProblemsOf(answer.refusal, asked.origins, ""))}};
  if (!answer.digest.empty()) {
    out["digest"] = answer.digest;
    out["plan"] = answer.plan;
  }
  out["ceiling"] = CeilingAsJson(owner, answer.ceiling, answer.granted);
  if (asked.policy != nullptr) out["policy"] = FileAsJson(*asked.policy);
  if (!needs.empty()) out["needs"] = needs;
  return out;
}

void PrintOutcome(const Console& console, const answer::Answer& answer, const ceiling::Owner& owner,
                  const std::vector<std::string>& needs) {
  if (answer.digest.empty()) return;
  std::vector<std::string> lines = answer.plan;
  lines.insert(lines.end(), needs.begin(), needs.end());
  for (const std::string& line : lines) console.PrintLine(Sanitize(line, Lines::kOne));
  console.PrintLine("policy digest " + answer.digest);
  PrintCeiling(console, owner, answer.ceiling, answer.granted);
}

}  // namespace

answer::Question QuestionAbout(const policy::SandboxRequest& request, const dialect::Policy* policy,
                               const ceiling::Owner& owner) {
  answer::Question out{.request = request};
  out.seen = SeenPlaces(request, owner);
  if (policy == nullptr) return out;
  for (const auto& [target, source] : policy->secrets) {
    out.env_sources[target] = source;
    // It goes nowhere before it is granted.
    if (const auto found = out.request.env.find(target); found != out.request.env.end()) {
      found->second.clear();
    }
  }
  return out;
}

Status PrintPlan(const Console& console, Explained explained, const PolicyAsker& asker) {
  AnsweredBy by;
  answer::Answer answer;
  do {
    ODY_ASSIGN_OR_RETURN(
        answer, asker.Ask(QuestionAbout(explained.request, explained.policy, asker.owner()), &by));
  } while (explained.change && explained.change(answer.refusal, &explained.request));
  const bool on_host = policy::IsDanger(explained.request) && !answer.digest.empty();
  const std::vector<std::string> needs =
      on_host ? DangerNeeds(asker.owner(), asker.locations()) : std::vector<std::string>();
  if (console.json) {
    Json out = OutcomeAsJson(answer, explained, asker.owner(), needs);
    out["answered_by"] = AnsweredByAsJson(by);
    console.PrintJson(out);
  } else {
    if (explained.policy != nullptr) PrintFile(console, *explained.policy);
    PrintOutcome(console, answer, asker.owner(), needs);
    PrintAnsweredBy(console, by);
  }
  return explained.origins.Locate(answer.refusal);
}

}  // namespace odyssey::ctl
