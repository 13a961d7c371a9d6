#include "ctl/explain.h"

#include <unistd.h>

#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "ctl/compile_here.h"
#include "ctl/policy_file.h"
#include "ctl/policy_json.h"
#include "ctl/sanitize.h"
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

// Which alone has agents, and rules of tools.
bool IsBundle(const dialect::Policy& policy) {
  return policy.dialect == dialect::Dialect::kManifest ||
         policy.dialect == dialect::Dialect::kBundle;
}

Json FileAsJson(const dialect::Policy& policy) {
  Json out = {{"dialect", dialect::DialectName(policy.dialect)},
              {"also_read", policy.also_read},
              {"warnings", WarningsAsJson(policy.warnings)},
              {"not_part_of_the_cell", policy.elsewhere}};
  if (!IsBundle(policy)) return out;
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

bool IsDanger(const policy::SandboxRequest& request) {
  return request.mode == policy::Mode::kDangerFullAccess;
}

// Of what danger_full_access needs, what is not in the request: each must hold. The grant file
// stands beside the ceiling.
std::vector<std::string> DangerNeeds(const ceiling::Owner& owner, const Locations& locations) {
  const std::filesystem::path ceiling = locations.policy_directory;
  const std::string file = ceiling.parent_path() / "danger_full_access";
  const std::string none =
      access(file.c_str(), F_OK) == 0 ? "" : "; there is none, so nobody has it";
  return {"needs the operator's grant file " + file + " to name " + owner.name + " or " +
              std::to_string(owner.uid) + none,
          "needs the operator's ceiling to grant mode danger_full_access and network full",
          "needs the person's own word, in this call or when the session is made: "
          "--dangerous-sandbox-mode"};
}

// What is made of a request; as far as that goes, where it is refused.
struct Outcome {
  Status status;
  std::vector<ceiling::Ruling> rulings;
  std::optional<compile::Compiled> compiled;
  std::vector<std::string> needs;
};

Outcome OutcomeOf(const Explained& asked, const CeilingView& ceiling, const Locations& locations) {
  const policy::SandboxRequest& request = asked.request;
  Outcome out{.status = asked.refused};
  if (!out.status.ok()) return out;
  Result<std::vector<ceiling::Ruling>> judged =
      ceiling::Judge(ceiling.ceiling, request, ceiling.asker);
  out.status = judged.status();
  if (judged.ok()) out.rulings = *std::move(judged);
  if (!out.status.ok() && !IsDanger(request)) return out;
  Result<compile::Compiled> compiled = CompileHere(request, ceiling, locations);
  if (!compiled.ok()) {
    out.status = compiled.status();
    return out;
  }
  out.compiled = *std::move(compiled);
  if (IsDanger(request)) out.needs = DangerNeeds(ceiling.asker.owner, locations);
  return out;
}

Json OutcomeAsJson(const Outcome& outcome, const Explained& asked, const CeilingView& ceiling) {
  Json out = {{"verdict", VerdictOf(outcome.status)},
              {"problems", ProblemsAsJson(ProblemsOf(outcome.status, asked.origins, ""))}};
  if (outcome.compiled) {
    out["digest"] = outcome.compiled->digest;
    out["plan"] = outcome.compiled->explanation;
  }
  out["ceiling"] = CeilingAsJson(ceiling, outcome.rulings);
  if (asked.policy != nullptr) out["policy"] = FileAsJson(*asked.policy);
  if (!outcome.needs.empty()) out["needs"] = outcome.needs;
  return out;
}

void PrintOutcome(const Console& console, const Outcome& outcome, const CeilingView& ceiling) {
  if (!outcome.compiled) return;
  std::vector<std::string> lines = outcome.compiled->explanation;
  lines.insert(lines.end(), outcome.needs.begin(), outcome.needs.end());
  for (const std::string& line : lines) console.PrintLine(Sanitize(line, Lines::kOne));
  console.PrintLine("policy digest " + outcome.compiled->digest);
  PrintCeiling(console, ceiling, outcome.rulings);
}

}  // namespace

Status PrintPlan(const Console& console, const Explained& asked, const CeilingView& ceiling,
                 const Locations& locations) {
  const Outcome outcome = OutcomeOf(asked, ceiling, locations);
  if (console.json) {
    console.PrintJson(OutcomeAsJson(outcome, asked, ceiling));
  } else {
    if (asked.policy != nullptr) PrintFile(console, *asked.policy);
    PrintOutcome(console, outcome, ceiling);
  }
  return asked.origins.Locate(outcome.status);
}

}  // namespace odyssey::ctl
