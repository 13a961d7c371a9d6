#include "ctl/explain.h"

#include <utility>

#include "ctl/host_facts.h"
#include "ctl/sanitize.h"
#include "policy/compile/compile.h"
#include "policy/executables/finder.h"

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
}

Json FileAsJson(const dialect::Policy& policy) {
  Json warnings = Json::array();
  for (const dialect::Problem& warning : policy.warnings) {
    warnings.push_back(dialect::ToString(warning));
  }
  return {{"dialect", dialect::DialectName(policy.dialect)},
          {"also_read", policy.also_read},
          {"warnings", std::move(warnings)},
          {"not_part_of_the_cell", policy.elsewhere}};
}

Status PrintCompiled(const Console& console, policy::SandboxRequest request,
                     const CeilingView& ceiling, const std::string& state,
                     const dialect::Policy* policy) {
  ODY_ASSIGN_OR_RETURN(const std::vector<ceiling::Ruling> rulings,
                       ceiling::Judge(ceiling.ceiling, request, ceiling.asker));
  ceiling::FillLimits(ceiling.ceiling, request.ephemeral, &request.limits);
  ODY_ASSIGN_OR_RETURN(const compile::Compiled compiled, CompileHere(request, state));
  if (console.json) {
    Json plan = {{"digest", compiled.digest},
                 {"plan", compiled.explanation},
                 {"ceiling", CeilingAsJson(ceiling, rulings)}};
    if (policy != nullptr) plan["policy"] = FileAsJson(*policy);
    console.PrintJson(plan);
    return OkStatus();
  }
  for (const std::string& line : compiled.explanation) {
    console.PrintLine(Sanitize(line, Lines::kOne));
  }
  console.PrintLine("policy digest " + compiled.digest);
  PrintCeiling(console, ceiling, rulings);
  return OkStatus();
}

}  // namespace

Result<compile::Compiled> CompileHere(const policy::SandboxRequest& request,
                                      const std::string& state) {
  executables::Finder finder;
  ODY_ASSIGN_OR_RETURN(const compile::FoundExecutables found,
                       finder.Find(compile::SystemExecutables(request)));
  return compile::Compile(request, GatherHostFacts(state), found);
}

Status PrintPlan(const Console& console, policy::SandboxRequest request, const CeilingView& ceiling,
                 const std::string& state, const dialect::Policy* policy) {
  if (policy != nullptr && !console.json) PrintFile(console, *policy);
  const Status status = PrintCompiled(console, std::move(request), ceiling, state, policy);
  return policy == nullptr ? status : policy->origins.Locate(status);
}

}  // namespace odyssey::ctl
