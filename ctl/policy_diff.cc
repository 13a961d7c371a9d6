#include "ctl/policy_diff.h"

#include <set>
#include <utility>

#include "ctl/exec_options.h"
#include "ctl/exit_code.h"
#include "ctl/policy_file.h"
#include "ctl/sanitize.h"
#include "policy/lattice/rights.h"

namespace odyssey::ctl {
namespace {

constexpr char kNext[] = "odyssey-ctl policy check FILE tells what is wrong with a file.";
constexpr int kExitDiffer = 1, kExitTrouble = 2;  // as diff(1)

// The policy as it is written: whatever this environment has, and whatever the operator grants.
Result<policy::SandboxRequest> ReadAsWritten(const std::string& file) {
  const ExecInputs inputs = MakeExecInputs();
  ODY_ASSIGN_OR_RETURN(const std::string cwd, inputs.resolve("."));
  std::set<std::string> asked, granted;
  const auto environment = [&](const std::string& name) -> std::optional<std::string> {
    asked.insert(name);
    return inputs.environment(name).value_or("");
  };
  for (;;) {
    dialect::PolicyContext context = MakePolicyContext(cwd, environment);
    context.granted_env = granted;
    dialect::Problems problems;
    Result<dialect::Policy> policy = ReadPolicy(file, context, &problems);
    if (policy.ok()) return std::move(policy->request);
    if (asked == granted) return policy.status();
    granted = asked;  // a variable that looks like a secret had no grant: read again with one
  }
}

void PrintSide(const Console& console, const std::string& title,
               const std::vector<std::string>& items) {
  if (items.empty()) return;
  console.PrintLine(Sanitize(title, Lines::kOne));
  for (const std::string& item : items) console.PrintLine("  " + Sanitize(item, Lines::kOne));
}

int Diff(const Invocation& call) {
  const Console& console = *call.console;
  policy::SandboxRequest requests[2];
  for (size_t i = 0; i < 2; ++i) {
    Result<policy::SandboxRequest> request = ReadAsWritten(call.options.Word(i));
    if (!request.ok()) {
      console.Fail({"read " + call.options.Word(i), request.status().message(), kNext});
      return kExitTrouble;
    }
    requests[i] = std::move(*request);
  }
  const Result<PolicyDifference> difference = ComparePolicies(requests[0], requests[1]);
  if (!difference.ok()) {
    console.Fail({"policy diff", difference.status().message(), kNext});
    return kExitTrouble;
  }
  const bool same = difference->only_first.empty() && difference->only_second.empty();
  if (console.json) {
    console.PrintJson({{"same", same},
                       {"only_in_a", difference->only_first},
                       {"only_in_b", difference->only_second}});
  } else {
    const std::string a = call.options.Word(0), b = call.options.Word(1);
    PrintSide(console, b + " allows what " + a + " does not:", difference->only_second);
    PrintSide(console, a + " allows what " + b + " does not:", difference->only_first);
  }
  return same ? kExitOk : kExitDiffer;
}

}  // namespace

Result<PolicyDifference> ComparePolicies(const policy::SandboxRequest& first,
                                         const policy::SandboxRequest& second) {
  ODY_ASSIGN_OR_RETURN(const lattice::Rights a, lattice::RightsOf(first));
  ODY_ASSIGN_OR_RETURN(const lattice::Rights b, lattice::RightsOf(second));
  return PolicyDifference{.only_first = lattice::Excess(a, b),
                          .only_second = lattice::Excess(b, a)};
}

Command PolicyDiffCommand() {
  return {.name = "policy diff",
          .summary = "what policy B allows that A does not, and the other way round",
          .positionals = {{.name = "A", .kind = ValueKind::kFile},
                          {.name = "B", .kind = ValueKind::kFile}},
          .notes =
              "Compares what they ask of a cell, not the rules of tools. Exits 0 if they allow "
              "the same, 1 if they\ndiffer, 2 if they cannot be compared.",
          .run = Diff};
}

}  // namespace odyssey::ctl
