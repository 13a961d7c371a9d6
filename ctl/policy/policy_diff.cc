#include "ctl/policy/policy_diff.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"
#include "ctl/policy/any_host.h"
#include "ctl/policy/exec_options.h"
#include "ctl/policy/policy_file.h"
#include "ctl/policy/policy_json.h"
#include "policy/difference/endpoints.h"
#include "policy/difference/workers.h"
#include "policy/lattice/rights.h"
#include "policy/model/tool_table.h"
#include "policy/rules/excess.h"

namespace odyssey::ctl {
namespace {

using difference::Difference;
using difference::Order;

constexpr char kNext[] = "odyssey-ctl policy check FILE lists the problems of a file.";
constexpr int kExitDiffer = 1, kExitTrouble = 2;  // as diff(1)

// A policy as it is written: whatever this environment has, and whatever the operator grants.
Result<WholePolicy> ReadAsWritten(const std::string& file, dialect::Problems* problems) {
  const ExecInputs inputs = MakeExecInputs();
  ODY_ASSIGN_OR_RETURN(const FoundPlace cwd, inputs.resolve("."));
  const auto environment = [&](const std::string& name) -> std::optional<std::string> {
    const std::optional<std::string> value = inputs.environment(name);
    // odek's settings are part of the policy. What others are for is to be exported, whatever is
    // in them.
    const bool is_setting = name.rfind("ODEK_SANDBOX", 0) == 0;
    return value || is_setting ? value : std::optional<std::string>("");
  };
  dialect::PolicyContext context = MakePolicyContext(cwd.name, environment);
  context.judges_secrets = true;  // whatever the operator grants
  context.bundle_copy = kAnyBundleCopy;
  ODY_ASSIGN_OR_RETURN(dialect::Policy policy, ReadPolicy(file, context, problems));
  return WholePolicyOf(file, std::move(policy));
}

void PrintSide(const Console& console, const std::string& title,
               const std::vector<std::string>& items) {
  if (items.empty()) return;
  console.PrintLine(Sanitize(title, Lines::kOne));
  for (const std::string& item : items) console.PrintLine("  " + Sanitize(item, Lines::kOne));
}

// Endpoints mean something beside another network only if it is none, or has endpoints too.
bool HasComparableNetwork(const dialect::Policy& policy) {
  return policy.dialect == dialect::Dialect::kOpenShell ||
         policy.request.network == policy::Network::kNone;
}

// What one agent may call, and how.
struct Tools {
  std::vector<std::string> offered;
  rules::ToolRules rules;
};

Result<Tools> ToolsFor(const dialect::Bundle& bundle, const dialect::AgentSpec& agent) {
  Tools out;
  ODY_ASSIGN_OR_RETURN(out.rules, rules::Parse(agent.tools.allow, agent.tools.ask, agent.tools.deny,
                                               agent.tools.risk));
  out.offered = rules::SelectTools(dialect::ToolsOf(bundle, agent), policy::ToolNames(), out.rules);
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

std::string Sentence(const std::string& a, const std::string& b, Order order) {
  if (order == Order::kDifferent)
    return "Each of " + a + " and " + b + " may allow what the other does not.";
  return b + " is " + std::string(OrderName(order)) + " than " + a + ".";
}

void Print(const Console& console, const std::string& a, const std::string& b,
           const Difference& difference) {
  const Order order = OrderOf(difference);
  if (console.json) {
    return console.PrintJson({{"same", order == Order::kSame},
                              {"b_is", OrderName(order)},
                              {"only_in_a", difference.only_first},
                              {"only_in_b", difference.only_second},
                              {"undecided", difference.undecided}});
  }
  if (order == Order::kSame) return;
  console.PrintLine(Sanitize(Sentence(a, b, order), Lines::kOne));
  PrintSide(console, b + " allows what " + a + " does not:", difference.only_second);
  PrintSide(console, a + " allows what " + b + " does not:", difference.only_first);
  PrintSide(console,
            "They differ, and neither is known to allow more (first " + a + ", second " + b + "):",
            difference.undecided);
}

int Trouble(const Console& console, const std::string& what, const Status& status,
            const dialect::Problems& problems) {
  if (console.json) {
    console.PrintJson({{"verdict", kInvalid}, {"problems", ProblemsAsJson(problems)}});
  }
  console.Fail({what, status.message(), kNext});
  return kExitTrouble;
}

int Diff(const Invocation& call) {
  const Console& console = *call.console;
  WholePolicy sides[2];
  for (size_t i = 0; i < 2; ++i) {
    const std::string file = call.options.Word(i);
    dialect::Problems problems;
    Result<WholePolicy> side = ReadAsWritten(file, &problems);
    if (!side.ok()) {
      if (problems.empty()) problems = ProblemsOf(side.status(), {}, file);
      return Trouble(console, "read " + file, side.status(), problems);
    }
    sides[i] = std::move(*side);
  }
  const Result<Difference> difference = CompareWhole(sides[0], sides[1]);
  if (!difference.ok()) {
    return Trouble(console, "policy diff", difference.status(),
                   ProblemsOf(difference.status(), {}, ""));
  }
  Print(console, call.options.Word(0), call.options.Word(1), *difference);
  return OrderOf(*difference) == Order::kSame ? kExitOk : kExitDiffer;
}

std::vector<std::string> Lines(const std::vector<Status>& excess, const dialect::Origins& origins) {
  std::vector<std::string> lines;
  for (const Status& one : excess) lines.push_back(origins.Locate(one).message());
  return lines;
}

std::string TextOf(const policy::ImageRoot& image) {
  if (image.reference.empty()) return "none";
  return image.reference + (image.user.empty() ? "" : ", user " + image.user);
}

Result<Difference> CompareLocated(const policy::SandboxRequest& first,
                                  const dialect::Origins& first_origins,
                                  const policy::SandboxRequest& second,
                                  const dialect::Origins& second_origins) {
  ODY_ASSIGN_OR_RETURN(lattice::Rights a, lattice::RightsOf(first));
  ODY_ASSIGN_OR_RETURN(lattice::Rights b, lattice::RightsOf(second));
  if (a.network == b.network) {  // CompareEndpoints knows which endpoint holds another one
    a.egress.clear();
    b.egress.clear();
  }
  Difference out{.only_first = Lines(lattice::Excess(a, b), first_origins),
                 .only_second = Lines(lattice::Excess(b, a), second_origins),
                 .undecided = {}};
  if (TextOf(first.image) != TextOf(second.image)) {
    out.undecided.push_back("image: " + TextOf(first.image) + "; the other " +
                            TextOf(second.image));
  }
  return out;
}

// All that it says, in one line.
std::string TextOf(const dialect::McpServerSpec& server) {
  std::string out = server.url.empty() ? "command" : "url " + server.url;
  for (const std::string& word : server.command) out += " " + word;
  for (const auto& [name, value] : server.env) out += ", env " + name + "=" + value;
  if (!server.cwd.empty()) out += ", cwd " + server.cwd;
  for (const auto& [name, value] : server.headers) out += ", header " + name + ": " + value;
  for (const std::string& tool : server.tools) out += ", tool " + tool;
  for (const auto& [tool, digest] : server.pins) out += ", pin " + tool + " " + digest;
  return out + ", timeout " + std::to_string(server.timeout_ms / 1000) + " s";
}

}  // namespace

Result<Difference> CompareRequests(const policy::SandboxRequest& first,
                                   const policy::SandboxRequest& second) {
  return CompareLocated(first, {}, second, {});
}

Result<Difference> ComparePolicies(const dialect::Policy& first, const dialect::Policy& second) {
  ODY_ASSIGN_OR_RETURN(
      Difference out, CompareLocated(first.request, first.origins, second.request, second.origins));
  if (HasComparableNetwork(first) && HasComparableNetwork(second)) {
    Append(difference::CompareEndpoints(first.request.egress, second.request.egress), &out);
  }
  if (first.worker && second.worker) {
    Append(difference::CompareWorkers(*first.worker, *second.worker), &out);
  }
  return out;
}

Result<Difference> CompareAgents(const dialect::Bundle& first, const dialect::Bundle& second) {
  Difference out;
  ODY_ASSIGN_OR_RETURN(out.only_first, ExcessOfAgents(first, second));
  ODY_ASSIGN_OR_RETURN(out.only_second, ExcessOfAgents(second, first));
  return out;
}

Difference CompareServers(const dialect::Bundle& first, const dialect::Bundle& second) {
  Difference out;
  const auto by_name = [](const dialect::Bundle& bundle) {
    std::map<std::string, const dialect::McpServerSpec*> servers;
    for (const dialect::McpServerSpec& server : bundle.mcp_servers) servers[server.name] = &server;
    return servers;
  };
  const auto mine = by_name(first), theirs = by_name(second);
  for (const auto& [name, server] : mine) {
    const auto other = theirs.find(name);
    const std::string key = "mcp_servers." + name + ": ";
    if (other == theirs.end()) {
      out.only_first.push_back(key + TextOf(*server));
    } else if (*other->second != *server) {
      out.undecided.push_back(key + TextOf(*server) + "; the other " + TextOf(*other->second));
    }
  }
  for (const auto& [name, server] : theirs) {
    if (mine.count(name) == 0)
      out.only_second.push_back("mcp_servers." + name + ": " + TextOf(*server));
  }
  return out;
}

Result<WholePolicy> WholePolicyOf(const std::string& file, dialect::Policy policy) {
  const dialect::Dialect kind = policy.dialect;
  WholePolicy whole{.policy = std::move(policy), .bundle = {}};
  if (kind != dialect::Dialect::kManifest && kind != dialect::Dialect::kBundle) return whole;
  ODY_ASSIGN_OR_RETURN(const std::string directory, BundleDirectory(file));
  ODY_ASSIGN_OR_RETURN(whole.bundle, dialect::LoadBundle(directory, OpenBundleDirectory));
  return whole;
}

Result<Difference> CompareWhole(const WholePolicy& first, const WholePolicy& second) {
  ODY_ASSIGN_OR_RETURN(Difference out, ComparePolicies(first.policy, second.policy));
  if (!first.bundle || !second.bundle) return out;
  ODY_ASSIGN_OR_RETURN(Difference agents, CompareAgents(*first.bundle, *second.bundle));
  Append(std::move(agents), &out);
  Append(CompareServers(*first.bundle, *second.bundle), &out);
  return out;
}

Result<std::optional<std::string>> BeyondParent(const WholePolicy& child,
                                                const WholePolicy& parent) {
  ODY_ASSIGN_OR_RETURN(const Difference difference, CompareWhole(parent, child));
  std::optional<std::string> beyond;
  if (!difference.only_second.empty()) {
    beyond = difference.only_second.front();
  } else if (!difference.undecided.empty()) {
    beyond = difference.undecided.front() +
             ", and neither is known to give more (the first is the one of --within)";
  }
  return beyond;
}

Command PolicyDiffCommand() {
  return {.name = "policy diff",
          .summary = "compare two policies: what B allows that A does not, and the reverse",
          .positionals = {{.name = "A", .kind = ValueKind::kFile},
                          {.name = "B", .kind = ValueKind::kFile}},
          .notes =
              "Compares what they ask of a cell; of two bundles, tools, their rules and MCP "
              "servers; of two llm-do "
              "workers,\napprovals, shell rules and delegation; of OpenShell policies, endpoints. "
              "Exits 0 "
              "if they allow the\nsame, 1 if they differ, 2 if they cannot be compared.",
          .run = Diff};
}

}  // namespace odyssey::ctl
