// bundle validate.
#include <string>
#include <utility>
#include <vector>

#include "agentd/provider/bundle_models.h"
#include "agentd/scenario/bundle_scenarios.h"
#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"
#include "ctl/file/seen_places.h"
#include "ctl/policy/any_host.h"
#include "ctl/policy/exec_options.h"
#include "ctl/policy/policy_file.h"
#include "ctl/policy/policy_json.h"
#include "policy/dialect/bundle.h"
#include "policy/dialect/bundle_tree.h"
#include "policy/dialect/policy_reader.h"

namespace odyssey::ctl {
namespace {

struct Findings {
  dialect::Problems problems;
  dialect::Problems
      warnings;  // what is so on this host, and may be otherwise where the bundle goes
};

// What its files say of a cell is refused by whoever makes one.
void CheckSandbox(const std::string& directory, const dialect::Bundle& bundle, Findings* out) {
  const Result<FoundPlace> here = MakeExecInputs().resolve(".");
  // Each variable counts, also one that is not set here.
  dialect::PolicyContext context =
      MakePolicyContext(here.ok() ? here->name : "", [](const std::string&) { return ""; });
  context.judges_secrets = true;
  context.bundle_copy = kAnyBundleCopy;
  const auto policy = dialect::ReadBundlePolicy(directory, context, &out->problems);
  if (!policy) return;
  const Status status = CheckAnywhere(policy->request);
  if (!status.ok()) {
    const dialect::Problem whole = {.file = bundle.manifest_path, .message = status.message()};
    out->problems.push_back(policy->origins.ToProblem(status).value_or(whole));
  }
  out->warnings = DoubtfulPlaces(*policy, bundle.manifest_path);
  for (dialect::Problem& missing : MissingPrograms(*policy, bundle.manifest_path)) {
    out->warnings.push_back(std::move(missing));
  }
}

Findings Examine(const std::string& directory) {
  dialect::Bundle bundle;
  Findings out = {.problems = dialect::ValidateBundle(directory, &bundle, OpenBundleDirectory)};
  const bool readable = out.problems.empty();
  for (dialect::Problem& problem : scenario::ValidateScenarios(bundle, OpenBundleDirectory)) {
    out.problems.push_back(std::move(problem));
  }
  for (dialect::Problem& problem : provider::ValidateModels(bundle)) {
    out.problems.push_back(std::move(problem));
  }
  if (bundle.manifest_path.empty()) return out;  // no bundle's directory, as far as can be told
  for (dialect::Problem& entry : dialect::CheckBundleTree(directory, OpenBundleDirectory)) {
    out.problems.push_back(std::move(entry));
  }
  if (!readable) return out;
  Findings of_sandbox;
  CheckSandbox(directory, bundle, &of_sandbox);
  for (dialect::Problem& problem : of_sandbox.problems) out.problems.push_back(std::move(problem));
  out.warnings = std::move(of_sandbox.warnings);
  return out;
}

int Validate(const Invocation& call) {
  const Console& console = *call.console;
  const std::string path = call.options.Word(0);
  const Result<std::string> directory = BundleDirectory(path);
  if (!directory.ok()) {
    return console.Fail(
        {"validate", directory.status().message(), "usage: odyssey-ctl bundle validate DIR"});
  }
  const auto [problems, warnings] = Examine(*directory);
  PrintWarnings(console, warnings);
  if (console.json) {
    console.PrintJson({{"valid", problems.empty()},
                       {"problems", ProblemsAsJson(problems)},
                       {"warnings", ProblemsAsJson(warnings)}});
  } else if (problems.empty()) {
    console.PrintLine("valid");
  } else {
    for (const dialect::Problem& problem : problems) {
      console.PrintLine(Sanitize(dialect::ToString(problem), Lines::kOne));
    }
  }
  return problems.empty() ? kExitOk : kExitFailed;
}

}  // namespace

std::vector<Command> BundleCommands() {
  return {{.name = "bundle validate",
           .summary =
               "check a bundle and its scenarios; prints each problem as file:line: key: problem",
           .positionals = {{.name = "DIR", .kind = ValueKind::kDirectory}},
           .notes =
               "Exits 1 if there is a problem, an entry of the directory that no session could "
               "copy included.\nWhat this host alone lacks, a directory or a "
               "program, is a warning,\nand so is a tool that this version does not have.",
           .run = Validate}};
}

}  // namespace odyssey::ctl
