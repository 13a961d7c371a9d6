// bundle validate.
#include <string>
#include <utility>
#include <vector>

#include "ctl/command.h"
#include "ctl/exit_code.h"
#include "ctl/policy_file.h"
#include "ctl/sanitize.h"
#include "policy/dialect/bundle.h"
#include "policy/scenario/bundle_scenarios.h"

namespace odyssey::ctl {
namespace {

int Validate(const Invocation& call) {
  const Console& console = *call.console;
  const std::string path = call.options.Word(0);
  const Result<std::string> directory = BundleDirectory(path);
  if (!directory.ok()) {
    return console.Fail(
        {"validate", directory.status().message(), "usage: odyssey-ctl bundle validate DIR"});
  }
  dialect::Bundle bundle;
  dialect::Problems problems = dialect::ValidateBundle(*directory, &bundle);
  for (dialect::Problem& problem : scenario::ValidateScenarios(bundle)) {
    problems.push_back(std::move(problem));
  }
  if (console.json) {
    Json list = Json::array();
    for (const dialect::Problem& problem : problems) {
      list.push_back({{"file", problem.file},
                      {"line", problem.line},
                      {"key", problem.key},
                      {"message", problem.message}});
    }
    console.PrintJson({{"valid", problems.empty()}, {"problems", std::move(list)}});
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
           .summary = "every problem of a bundle and its scenarios, as file:line: key: problem",
           .positionals = {{.name = "DIR", .kind = ValueKind::kDirectory}},
           .notes = "Exits 1 if there is a problem.",
           .run = Validate}};
}

}  // namespace odyssey::ctl
