#include "policy/dialect/agent_file.h"

#include <map>
#include <utility>

#include "policy/dialect/attachment_policy.h"
#include "policy/dialect/manifest.h"
#include "policy/model/tool_table.h"
#include "policy/rules/network_rules.h"
#include "policy/rules/tool_rules.h"

namespace odyssey::dialect {
namespace {

// Of a budget: more is a mistake.
constexpr uint64_t kMaxToolCalls = 1'000'000'000;
constexpr uint64_t kMaxWallClockSeconds = 30 * 24 * 3600;

bool IsBlank(const std::string& text) {
  return text.find_first_not_of(" \t\r\n") == std::string::npos;
}

std::string ReadFilled(MapReader* map, std::string_view name, const std::string& label) {
  const std::optional<Text> text = map->String(name, Need::kRequired);
  if (!text) return "";
  if (IsBlank(text->value)) {
    map->source().Invalid(text->line, text->key, label + " cannot be empty");
  }
  return text->value;
}

ModelSpec ReadModel(MapReader model, Origins* origins) {
  ModelSpec spec;
  if (!model.present()) return spec;
  for (const char* name : {"provider", "name", "config"}) {
    model.Note(name, std::string("model.") + name, origins);
  }
  for (const auto& [name, value] : {std::pair("provider", &spec.provider), {"name", &spec.name}}) {
    const std::optional<Text> text = model.String(name, Need::kRequired);
    if (!text) continue;
    *value = text->value;
    if (IsBlank(text->value)) {
      model.source().Invalid(text->line, text->key, "agent model provider and name are required");
    }
  }
  if (const Node* config = model.Any("config")) spec.config = ToJson(*config);
  model.Finish();
  return spec;
}

// True if there is such a tool; otherwise `what` names an unknown one.
bool CheckTool(const Source& source, const Text& text, const std::string& what,
               const std::string& tool) {
  const bool known = policy::FindTool(tool) != nullptr;
  if (!known) source.Invalid(text.line, text.key, what + " names an " + UnknownTool(tool));
  return known;
}

// A rule for tools of MCP servers. Which servers there are is the manifest's to say (bundle.cc).
std::optional<rules::Rule> CheckServed(const Source& source, const std::string& what,
                                       const Text& text, const rules::Rule& rule) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-*";
  if (rule.target) {
    source.Invalid(text.line, text.key,
                   what + ": a tool of an MCP server has no target; name it as mcp__SERVER__TOOL");
  } else if (rule.tool.find_first_not_of(kAllowed) != std::string::npos) {
    source.Invalid(text.line, text.key, what + ": must be mcp__SERVER__TOOL, where * is any text");
  } else {
    return rule;
  }
  return std::nullopt;
}

// The rule of an entry; nullopt if it is wrong.
std::optional<rules::Rule> ReadRule(const Source& source, const std::string& label,
                                    rules::Verdict action, const Text& text) {
  const Result<rules::Rule> rule = rules::ParseRule(label, action, text.value);
  if (!rule.ok()) {
    source.Invalid(text.line, text.key, rule.status().message());
    return std::nullopt;
  }
  const std::string what = label + " entry `" + text.value + "`";
  if (policy::IsServedTool(rule->tool)) return CheckServed(source, what, text, *rule);
  const bool of_tool = rule->tool != "*" && !rules::IsOfNetwork(*rule);
  if (of_tool && !CheckTool(source, text, what, rule->tool)) return std::nullopt;
  return *rule;
}

// Checks the examples that stand beside a rule: what it fits, and what it does not.
void CheckExamples(const rules::Rule* rule, MapReader* entry) {
  for (const auto& [name, expected] : {std::pair("match", true), {"not_match", false}}) {
    for (const Text& example : entry->Strings(name)) {
      if (rule == nullptr) continue;
      const Result<bool> fits = rules::Fits(*rule, example.value);
      if (fits.ok() && *fits == expected) continue;
      const std::string why = !fits.ok() ? fits.status().message()
                              : *fits    ? "the rule fits it"
                                         : "the rule does not fit it";
      entry->source().Invalid(example.line, example.key,
                              "example `" + example.value + "` of " + rule->text + ": " + why);
    }
  }
}

std::vector<std::string> ReadRules(MapReader* tools, const std::string& name, rules::Verdict action,
                                   Origins* origins) {
  const std::string label = "agent.tools." + name;
  std::vector<std::string> entries;
  for (MapReader::Entry& entry : tools->Entries(name)) {
    const std::optional<Text> text =
        entry.map ? entry.map->String("rule", Need::kRequired) : entry.text;
    const std::optional<rules::Rule> rule =
        text ? ReadRule(tools->source(), label, action, *text) : std::nullopt;
    if (entry.map) {
      CheckExamples(rule ? &*rule : nullptr, &*entry.map);
      entry.map->Finish();
    }
    if (!rule) continue;
    origins->Add("tools." + name + "[" + std::to_string(entries.size()) + "]",
                 PlaceOf(tools->source(), *text));
    entries.push_back(text->value);
  }
  return entries;
}

std::map<std::string, std::string> ReadRisk(MapReader* tools) {
  std::map<std::string, std::string> out;
  for (const auto& [key, text] : tools->StringMap("risk")) {
    if (!rules::FindRisk(key.name)) {
      std::string known;
      for (const std::string_view name : rules::kRiskNames) {
        known.append(known.empty() ? "" : ", ").append(name);
      }
      tools->source().Invalid(text.line, text.key,
                              "there is no risk class `" + key.name + "`; there are " + known);
    } else if (!rules::FindVerdict(text.value)) {
      tools->source().Invalid(text.line, text.key,
                              "must be one of allow, ask, deny, not `" + text.value + "`");
    } else {
      out[key.name] = text.value;
    }
  }
  return out;
}

ToolRuleSpec ReadTools(MapReader* tools, Origins* origins) {
  ToolRuleSpec spec;
  spec.allow = ReadRules(tools, "allow", rules::Verdict::kAllow, origins);
  spec.ask = ReadRules(tools, "ask", rules::Verdict::kAsk, origins);
  spec.deny = ReadRules(tools, "deny", rules::Verdict::kDeny, origins);
  spec.risk = ReadRisk(tools);
  return spec;
}

uint64_t ReadDollars(MapReader* map, std::string_view name) {
  const Node* node = map->Any(name);
  if (node == nullptr) return 0;
  const std::optional<uint64_t> dollars =
      node->kind == NodeKind::kNumber ? policy::ParseDollars(node->text) : std::nullopt;
  if (dollars && *dollars > 0) return *dollars;
  map->source().Invalid(node->line, map->KeyOf(name),
                        std::string("must be ") + policy::kDollarsRule + ", above 0");
  return 0;
}

policy::Budget ReadBudget(MapReader map) {
  policy::Budget budget;
  budget.tokens = map.Whole(policy::kTokens.file_key, 0, 1, policy::kMaxBudget);
  budget.cost_microdollars = ReadDollars(&map, policy::kCost.file_key);
  budget.tool_calls = map.Whole(policy::kToolCalls.file_key, 0, 1, kMaxToolCalls);
  budget.wall_clock_ms = map.Whole(policy::kWallClock.file_key, 0, 1, kMaxWallClockSeconds) * 1000;
  map.Finish();
  return budget;
}

DelegationSpec ReadDelegation(MapReader map, Origins* origins) {
  DelegationSpec spec;
  if (!map.present()) return spec;
  for (const Text& text : map.Strings("allow")) {
    if (IsBlank(text.value)) {
      map.source().Invalid(text.line, text.key, "the id of an agent cannot be empty");
    }
    origins->Add("delegation.allow[" + std::to_string(spec.allow.size()) + "]",
                 PlaceOf(map.source(), text));
    spec.allow.push_back(text.value);
  }
  spec.budget = ReadBudget(map.Map("budget"));
  map.Finish();
  return spec;
}

// What both forms of an agent's file have.
void ReadCooperation(MapReader* map, AgentSpec* agent) {
  agent->delegation = ReadDelegation(map->Map("delegation"), &agent->origins);
  agent->attachments = ReadAttachmentPolicy(map->Map("attachments"));
}

AgentSpec ReadPlain(MapReader map, const AgentSpec& defaults) {
  AgentSpec agent = defaults;
  agent.id = ReadFilled(&map, "id", "agent id");
  if (const std::optional<Text> text = map.String("description")) agent.description = text->value;
  agent.prompt = ReadFilled(&map, "prompt", "agent prompt");
  agent.model = ReadModel(map.Map("model", Need::kRequired), &agent.origins);
  MapReader tools = map.Map("tools");
  agent.tools = ReadTools(&tools, &agent.origins);
  tools.Finish();
  ReadCooperation(&map, &agent);
  map.Finish();
  return agent;
}

void ReadExecution(MapReader execution, AgentSpec* agent) {
  if (!execution.present()) return;
  execution.Enum<bool>("executor", {{"react/v1", true}}, true);
  agent->memory.kind =
      execution.Enum<MemoryKind>("memory",
                                 {{"session-window/v1", MemoryKind::kSlidingWindow},
                                  {"summarizing-window/v1", MemoryKind::kSummarizingWindow}},
                                 agent->memory.kind);
  ReadMemoryConfig(execution.Map("memory_config"), &agent->memory);
  execution.Finish();
}

void ReadRequirements(MapReader required) {
  for (const Text& text : required.Strings("tools")) {
    CheckTool(required.source(), text, "spec.requires.tools", text.value);
  }
  for (const Text& text : required.Strings("features")) {
    required.source().Invalid(text.line, text.key,
                              "feature `" + text.value + "` is not available; none is");
  }
  required.Finish();
}

// What describes an agent to people and catalogues, and changes nothing here.
void SkipDescriptions(MapReader* spec) {
  MapReader interfaces = spec->Map("interfaces");
  interfaces.Any("input_schema");
  interfaces.Any("output_schema");
  interfaces.Finish();
  MapReader hints = spec->Map("policyHints");
  hints.Any("isolation_class");
  hints.Any("network");
  hints.Any("filesystem");
  hints.Finish();
}

void ReadMetadata(MapReader metadata, AgentSpec* agent) {
  if (!metadata.present()) return;
  agent->id = ReadFilled(&metadata, "name", "agent id");
  metadata.String("version");
  if (const std::optional<Text> text = metadata.String("description")) {
    agent->description = text->value;
  }
  metadata.Finish();
}

void CheckAbi(MapReader* spec, const std::string& abi) {
  const Node* own = spec->Any("abiVersion");
  if (own == nullptr || abi.empty() || own->text == abi) return;
  spec->source().Invalid(own->line, spec->KeyOf("abiVersion"),
                         "must equal the bundle's `" + abi + "`, not `" + own->text + "`");
}

AgentSpec ReadVersioned(MapReader map, const std::string& abi) {
  AgentSpec agent;
  map.Enum<bool>("apiVersion", {{"odyssey.ai/v1", true}}, true, Need::kRequired);
  map.Enum<bool>("kind", {{"Agent", true}}, true, Need::kRequired);
  ReadMetadata(map.Map("metadata", Need::kRequired), &agent);
  MapReader spec = map.Map("spec", Need::kRequired);
  map.Finish();
  if (!spec.present()) return agent;

  spec.Enum<bool>("kind", {{"prompt", true}}, true, Need::kOptional,
                  "wasm agents are not supported");
  CheckAbi(&spec, abi);
  agent.prompt = ReadFilled(&spec, "prompt", "agent prompt");
  agent.model = ReadModel(spec.Map("model", Need::kRequired), &agent.origins);
  if (const Node* program = spec.Any("program")) {
    spec.source().Invalid(program->line, spec.KeyOf("program"), "wasm agents are not supported");
  }
  ReadExecution(spec.Map("execution"), &agent);
  SkipDescriptions(&spec);
  ReadRequirements(spec.Map("requires"));
  MapReader tools = spec.Map("tools");
  for (const Text& text : tools.Strings("require")) {
    if (CheckTool(tools.source(), text, "agent.tools.require", text.value)) {
      agent.tools.require.push_back(text.value);
    }
  }
  ToolRuleSpec rules = ReadTools(&tools, &agent.origins);
  rules.require = std::move(agent.tools.require);
  agent.tools = std::move(rules);
  tools.Finish();
  ReadCooperation(&spec, &agent);
  spec.Finish();
  return agent;
}

}  // namespace

AgentSpec ReadAgent(const Node& document, const Source& source, const AgentSpec& defaults,
                    const std::string& abi) {
  const MapReader map(&source, &document, "");
  if (!map.present()) return {};
  if (Find(document, "apiVersion") != nullptr) return ReadVersioned(map, abi);
  return ReadPlain(map, defaults);
}

}  // namespace odyssey::dialect
