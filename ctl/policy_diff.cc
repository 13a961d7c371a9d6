#include "ctl/policy_diff.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "ctl/exec_options.h"
#include "ctl/exit_code.h"
#include "ctl/policy_file.h"
#include "ctl/sanitize.h"
#include "policy/lattice/rights.h"
#include "policy/rules/excess.h"

namespace odyssey::ctl {
namespace {

constexpr char kNext[] = "odyssey-ctl policy check FILE tells what is wrong with a file.";
constexpr int kExitDiffer = 1, kExitTrouble = 2;  // as diff(1)

// A policy as it is written: whatever this environment has, and whatever the operator grants.
struct Side {
  policy::SandboxRequest request;
  std::optional<dialect::Bundle> bundle;
};

Result<Side> SideOf(const std::string& file, dialect::Policy policy) {
  Side side{.request = std::move(policy.request), .bundle = {}};
  const dialect::Dialect kind = policy.dialect;
  if (kind != dialect::Dialect::kManifest && kind != dialect::Dialect::kBundle) return side;
  ODY_ASSIGN_OR_RETURN(const std::string directory, BundleDirectory(file));
  ODY_ASSIGN_OR_RETURN(side.bundle, dialect::LoadBundle(directory));
  return side;
}

Result<Side> ReadAsWritten(const std::string& file) {
  const ExecInputs inputs = MakeExecInputs();
  ODY_ASSIGN_OR_RETURN(const std::string cwd, inputs.resolve("."));
  std::set<std::string> asked, granted;
  const auto environment = [&](const std::string& name) -> std::optional<std::string> {
    asked.insert(name);
    const std::optional<std::string> value = inputs.environment(name);
    // odek's settings are part of the policy. What others are for is to be exported, whatever is
    // in them.
    const bool is_setting = name.rfind("ODEK_SANDBOX", 0) == 0;
    return value || is_setting ? value : std::optional<std::string>("");
  };
  for (;;) {
    dialect::PolicyContext context = MakePolicyContext(cwd, environment);
    context.granted_env = granted;
    dialect::Problems problems;
    Result<dialect::Policy> policy = ReadPolicy(file, context, &problems);
    if (policy.ok()) return SideOf(file, *std::move(policy));
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

void Append(std::vector<std::string> lines, std::vector<std::string>* out) {
  for (std::string& line : lines) out->push_back(std::move(line));
}

Result<PolicyDifference> Compare(const Side& first, const Side& second) {
  ODY_ASSIGN_OR_RETURN(PolicyDifference out, ComparePolicies(first.request, second.request));
  if (!first.bundle || !second.bundle) return out;
  ODY_ASSIGN_OR_RETURN(PolicyDifference agents, CompareAgents(*first.bundle, *second.bundle));
  Append(std::move(agents.only_first), &out.only_first);
  Append(std::move(agents.only_second), &out.only_second);
  return out;
}

// What one agent may call, and how.
struct Tools {
  std::vector<std::string> offered;
  rules::ToolRules rules;
};

Result<Tools> ToolsFor(const dialect::Bundle& bundle, const dialect::AgentSpec& agent) {
  Tools out;
  ODY_ASSIGN_OR_RETURN(out.rules,
                       rules::Parse(agent.tools.allow, agent.tools.ask, agent.tools.deny));
  out.offered =
      rules::SelectTools(dialect::ToolsOf(bundle, agent), dialect::KnownTools(), out.rules);
  return out;
}

const dialect::AgentSpec* Counterpart(const dialect::AgentSpec& agent,
                                      const dialect::Bundle& bundle, bool alone) {
  if (alone) return &bundle.agents[0];
  for (const dialect::AgentSpec& other : bundle.agents) {
    if (other.id == agent.id) return &other;
  }
  return nullptr;
}

// What the agents of `child` have beyond those of `parent`.
Result<std::vector<std::string>> ExcessOfAgents(const dialect::Bundle& child,
                                                const dialect::Bundle& parent) {
  const bool alone = child.agents.size() == 1 && parent.agents.size() == 1;
  std::vector<std::string> out;
  for (const dialect::AgentSpec& agent : child.agents) {
    const std::string key = alone ? "agent" : "agents." + agent.id;
    const dialect::AgentSpec* other = Counterpart(agent, parent, alone);
    if (other == nullptr) {
      out.push_back(key + ": there is no such agent");
      continue;
    }
    ODY_ASSIGN_OR_RETURN(const Tools own, ToolsFor(child, agent));
    ODY_ASSIGN_OR_RETURN(const Tools theirs, ToolsFor(parent, *other));
    for (const std::string& tool : own.offered) {
      const auto& known = theirs.offered;
      if (std::find(known.begin(), known.end(), tool) != known.end()) continue;
      out.push_back(key + ".tools: " + tool);
    }
    for (const std::string& line : rules::Excess(own.rules, theirs.rules)) {
      out.push_back(key + ".tools." + line);
    }
  }
  return out;
}

int Diff(const Invocation& call) {
  const Console& console = *call.console;
  Side sides[2];
  for (size_t i = 0; i < 2; ++i) {
    Result<Side> side = ReadAsWritten(call.options.Word(i));
    if (!side.ok()) {
      console.Fail({"read " + call.options.Word(i), side.status().message(), kNext});
      return kExitTrouble;
    }
    sides[i] = std::move(*side);
  }
  const Result<PolicyDifference> difference = Compare(sides[0], sides[1]);
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

Result<PolicyDifference> CompareAgents(const dialect::Bundle& first,
                                       const dialect::Bundle& second) {
  PolicyDifference out;
  ODY_ASSIGN_OR_RETURN(out.only_first, ExcessOfAgents(first, second));
  ODY_ASSIGN_OR_RETURN(out.only_second, ExcessOfAgents(second, first));
  return out;
}

Command PolicyDiffCommand() {
  return {
      .name = "policy diff",
      .summary = "what policy B allows that A does not, and the other way round",
      .positionals = {{.name = "A", .kind = ValueKind::kFile},
                      {.name = "B", .kind = ValueKind::kFile}},
      .notes =
          "Compares what they ask of a cell and, of two bundles, tools and their rules. Exits 0 "
          "if they allow the\nsame, 1 if they differ, 2 if they cannot be compared.",
      .run = Diff};
}

}  // namespace odyssey::ctl
