#include "agentd/scenario/scenario.h"

#include <regex.h>

#include <algorithm>
#include <set>
#include <utility>

#include "policy/dialect/bundle.h"
#include "policy/dialect/node.h"
#include "policy/dialect/schema.h"
#include "policy/model/tool_table.h"

namespace odyssey::scenario {
namespace {

using dialect::MapReader;
using dialect::Need;
using dialect::Node;
using dialect::NodeKind;
using dialect::Text;
using Json = nlohmann::json;

constexpr std::string_view kVerbs[] = {"say", "think", "call", "usage", "set", "if", "fail", "end"};

struct OperatorName {
  std::string_view name;
  Operator op;
};
constexpr OperatorName kOperators[] = {
    {"equals", Operator::kEquals},    {"contains", Operator::kContains},
    {"matches", Operator::kMatches},  {"less", Operator::kLess},
    {"at_most", Operator::kAtMost},   {"greater", Operator::kGreater},
    {"at_least", Operator::kAtLeast}, {"empty", Operator::kEmpty}};

// Quantifiers in braces let a short pattern need any amount of memory; back references any amount
// of time.
Status CheckPattern(const std::string& pattern) {
  if (pattern.size() > kMaxPatternBytes) {
    return InvalidArgument("a pattern has at most " + std::to_string(kMaxPatternBytes) + " bytes");
  }
  bool escaped = false;
  for (const char c : pattern) {
    if (escaped && c >= '1' && c <= '9') return InvalidArgument("back references are not allowed");
    if (!escaped && c == '{') return InvalidArgument("{n} is not allowed; write \\{ for a brace");
    escaped = !escaped && c == '\\';
  }
  regex_t compiled;
  const int error = regcomp(&compiled, pattern.c_str(), REG_EXTENDED | REG_NOSUB);
  if (error != 0) {
    char text[128];
    regerror(error, &compiled, text, sizeof(text));
    return InvalidArgument(std::string("not an extended regular expression: ") + text);
  }
  regfree(&compiled);
  return OkStatus();
}

class Parser final {
 public:
  explicit Parser(const dialect::Source* source) : source_(source) {}

  std::vector<Step> Document(const Node& root) {
    MapReader map(source_, &root, "");
    map.Whole("scenario", 1, 1, 1);
    if (map.present() && dialect::Find(root, "scenario") == nullptr) {
      source_->Syntax(root.line, "scenario", "missing field `scenario`; it must be 1");
    }
    std::vector<Step> out = Steps(map, "steps", Need::kRequired, 0);
    map.Finish();
    return out;
  }

 private:
  // NOLINTNEXTLINE(misc-no-recursion): bounded by kMaxScenarioDepth.
  std::vector<Step> Steps(MapReader& map, std::string_view name, Need need, int depth) {
    std::vector<Step> out;
    const Node* list = map.Any(name, need);
    if (list == nullptr) return out;
    const std::string key = map.KeyOf(name);
    if (list->kind != NodeKind::kList) {
      source_->Syntax(list->line, key, "must be a list of steps");
      return out;
    }
    if (depth > kMaxScenarioDepth) {
      source_->Invalid(list->line, key,
                       "`if` within more than " + std::to_string(kMaxScenarioDepth) + " others");
      return out;
    }
    for (size_t i = 0; i < list->items.size(); ++i) {
      if (++steps_ == kMaxScenarioSteps + 1) {
        source_->Invalid(list->items[i].line, key,
                         "more than " + std::to_string(kMaxScenarioSteps) + " steps");
      }
      if (steps_ > kMaxScenarioSteps) return out;
      MapReader step(source_, &list->items[i], key + "[" + std::to_string(i) + "]");
      if (step.present()) ParseStep(step, list->items[i], depth, &out);
    }
    return out;
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  void ParseStep(MapReader& map, const Node& node, int depth, std::vector<Step>* out) {
    std::vector<std::string_view> verbs;
    for (const std::string_view verb : kVerbs) {
      if (dialect::Find(node, verb) != nullptr) verbs.push_back(verb);
    }
    if (verbs.size() != 1) {
      source_->Syntax(
          node.line, map.key(),
          "a step has exactly one of " + dialect::Quoted({std::begin(kVerbs), std::end(kVerbs)}));
      return;
    }
    Step step{node.line, End{}};
    const std::string_view verb = verbs.front();
    if (verb == "say") step.what = Say{TextAt(map, verb)};
    if (verb == "think") step.what = Think{TextAt(map, verb)};
    if (verb == "fail") step.what = Fail{TextAt(map, verb)};
    if (verb == "call") step.what = ParseCalls(map);
    if (verb == "usage") step.what = ParseUsage(map);
    if (verb == "set") step.what = ParseSet(map);
    if (verb == "if") step.what = ParseIf(map, depth);
    if (verb == "end") CheckEnd(map);
    map.Finish();
    out->push_back(std::move(step));
  }

  void CheckEnd(MapReader& map) {
    const Node* value = map.Any("end", Need::kRequired);
    if (value->kind == NodeKind::kBool && value->boolean) return;
    source_->Syntax(value->line, map.KeyOf("end"), "the only value is true");
  }

  Template TextAt(MapReader& map, std::string_view name) {
    const std::optional<Text> text = map.String(name, Need::kRequired);
    return text ? ParseText(text->value, text->line, text->key) : Template{};
  }

  Template ParseText(const std::string& text, int line, const std::string& key) {
    Result<Template> parsed = ParseTemplate(text);
    if (!parsed.ok()) {
      source_->Invalid(line, key, parsed.status().message());
      return {};
    }
    for (const std::string& name : NamesIn(*parsed)) {
      if (name == "prompt" || names_.count(name) > 0) continue;
      source_->Invalid(line, key, "${" + name + "} is not set by an earlier step");
    }
    return *std::move(parsed);
  }

  Calls ParseCalls(MapReader& map) {
    Calls out;
    const Node* value = map.Any("call", Need::kRequired);
    const std::string key = map.KeyOf("call");
    const bool list = value->kind == NodeKind::kList;
    const size_t count = list ? value->items.size() : 1;
    if (count == 0 || count > kMaxScenarioCalls) {
      source_->Invalid(value->line, key,
                       "needs 1 to " + std::to_string(kMaxScenarioCalls) + " calls");
      return out;
    }
    std::vector<std::string> named;  // of this step: its calls cannot use each other's results
    for (size_t i = 0; i < count; ++i) {
      const std::string call_key = list ? key + "[" + std::to_string(i) + "]" : key;
      MapReader call(source_, list ? &value->items[i] : value, call_key);
      if (!call.present()) continue;
      out.calls.push_back(ParseCall(call));
      if (!out.calls.back().as.empty()) named.push_back(out.calls.back().as);
    }
    names_.insert(named.begin(), named.end());
    return out;
  }

  ToolCallStep ParseCall(MapReader& map) {
    ToolCallStep out;
    if (const std::optional<Text> tool = map.String("tool", Need::kRequired)) {
      // Which tools the servers of a bundle have is known when they run.
      if (policy::FindTool(tool->value) == nullptr && !policy::IsServedTool(tool->value)) {
        source_->Invalid(tool->line, tool->key, dialect::UnknownTool(tool->value));
      }
      out.tool = tool->value;
    }
    out.arguments.kind = ArgumentTemplate::Kind::kMap;
    if (const Node* arguments = map.Any("args")) {
      MapReader reader(source_, arguments, map.KeyOf("args"));
      if (reader.present()) out.arguments = ParseArgument(*arguments, map.KeyOf("args"));
    }
    if (const std::optional<Text> as = map.String("as")) {
      CheckName(as->value, as->line, as->key);
      out.as = as->value;
    }
    map.Finish();
    return out;
  }

  void CheckName(const std::string& name, int line, const std::string& key) {
    const bool word = !name.empty() && name.find_first_not_of(
                                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                           "0123456789_-") == std::string::npos;
    if (!word) source_->Invalid(line, key, "`" + name + "`: a name has letters, digits, _ and -");
    if (name == "prompt") source_->Invalid(line, key, "`prompt` is the user's message");
  }

  // NOLINTNEXTLINE(misc-no-recursion): a document's depth is bounded.
  ArgumentTemplate ParseArgument(const Node& node, const std::string& key) {
    ArgumentTemplate out;
    switch (node.kind) {
      case NodeKind::kString:
        out.kind = ArgumentTemplate::Kind::kText;
        out.text = ParseText(node.text, node.line, key);
        return out;
      case NodeKind::kList:
      case NodeKind::kMap:
        break;
      default:
        out.literal = Json::parse(dialect::ToJson(node), nullptr, false);
        return out;
    }
    const bool map = node.kind == NodeKind::kMap;
    out.kind = map ? ArgumentTemplate::Kind::kMap : ArgumentTemplate::Kind::kList;
    for (size_t i = 0; i < node.items.size(); ++i) {
      const std::string name = map ? node.keys[i].name : std::to_string(i);
      out.items.push_back(ParseArgument(node.items[i], key + "." + name));
      if (map) out.keys.push_back(name);
    }
    return out;
  }

  Usage ParseUsage(MapReader& map) {
    Usage out;
    MapReader usage = map.Map("usage", Need::kRequired);
    if (!usage.present()) return out;
    out.input = usage.Whole("input", 0, 0, kMaxScenarioTokens);
    out.cached_input = usage.Whole("cached_input", 0, 0, out.input);
    out.output = usage.Whole("output", 0, 0, kMaxScenarioTokens);
    usage.Finish();
    return out;
  }

  Set ParseSet(MapReader& map) {
    Set out;
    for (const auto& [key, text] : map.StringMap("set")) {
      CheckName(key.name, key.line, text.key);
      out.values.emplace_back(key.name, ParseText(text.value, text.line, text.key));
      names_.insert(key.name);
    }
    if (out.values.empty()) source_->Invalid(map.line(), map.KeyOf("set"), "sets nothing");
    return out;
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  If ParseIf(MapReader& map, int depth) {
    If out;
    MapReader condition = map.Map("if", Need::kRequired);
    if (condition.present()) out.condition = ParseCondition(condition, 0);
    out.then = Steps(map, "then", Need::kRequired, depth + 1);
    out.otherwise = Steps(map, "else", Need::kOptional, depth + 1);
    return out;
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  Condition ParseCondition(MapReader& map, int depth) {
    Condition out;
    out.line = map.line();
    const std::vector<MapReader> all = map.Maps("all", kMaxScenarioCalls);
    const std::vector<MapReader> any = map.Maps("any", kMaxScenarioCalls);
    MapReader negated = map.Map("not");
    const int groups = !all.empty() + !any.empty() + negated.present();
    if (depth > kMaxScenarioDepth || groups > 1) {
      source_->Invalid(out.line, map.key(), "give one of `value`, `all`, `any`, `not`");
      return out;
    }
    if (groups == 0) return ParseTest(map);
    out.kind = !all.empty()   ? Condition::Kind::kAll
               : !any.empty() ? Condition::Kind::kAny
                              : Condition::Kind::kNot;
    std::vector<MapReader> parts = !all.empty() ? all : any;
    if (negated.present()) parts = {negated};
    for (MapReader& part : parts) out.parts.push_back(ParseCondition(part, depth + 1));
    map.Finish();
    return out;
  }

  Condition ParseTest(MapReader& map) {
    Condition out;
    out.line = map.line();
    out.value = TextAt(map, "value");
    int given = 0;
    for (const OperatorName& known : kOperators) {
      const Node* operand = map.Any(known.name);
      if (operand == nullptr) continue;
      ++given;
      out.op = known.op;
      ParseOperand(*operand, map.KeyOf(known.name), &out);
    }
    if (given != 1) {
      std::vector<std::string_view> names;
      for (const OperatorName& known : kOperators) names.push_back(known.name);
      source_->Invalid(out.line, map.key(), "give exactly one of " + dialect::Quoted(names));
    }
    map.Finish();
    return out;
  }

  void ParseOperand(const Node& node, const std::string& key, Condition* out) {
    switch (out->op) {
      case Operator::kEquals:
      case Operator::kContains:
        // A number or true may stand without quotes: it is compared as text.
        if (node.kind == NodeKind::kList || node.kind == NodeKind::kMap) break;
        out->operand = ParseText(node.kind == NodeKind::kString ? node.text : dialect::ToJson(node),
                                 node.line, key);
        return;
      case Operator::kMatches: {
        if (node.kind != NodeKind::kString) break;
        const Status checked = CheckPattern(node.text);
        if (!checked.ok()) source_->Invalid(node.line, key, checked.message());
        out->pattern = node.text;
        return;
      }
      case Operator::kEmpty:
        if (node.kind != NodeKind::kBool) break;
        out->wanted = node.boolean;
        return;
      default: {
        const Json number = Json::parse(dialect::ToJson(node), nullptr, false);
        if (!number.is_number()) break;
        out->number = number.get<double>();
        return;
      }
    }
    source_->Invalid(node.line, key, "cannot be " + std::string(dialect::KindName(node.kind)));
  }

  const dialect::Source* const source_;
  size_t steps_ = 0;
  std::set<std::string> names_;
};

}  // namespace

std::optional<Scenario> ParseScenario(const std::string& file, std::string_view yaml,
                                      dialect::Problems* problems) {
  const size_t before = problems->size();
  const std::optional<Node> root =
      dialect::ParseDocument(dialect::Format::kYaml, file, yaml, problems);
  if (!root) return std::nullopt;
  const dialect::Source source{file, dialect::ProblemKind::kYaml, problems};
  Scenario out{file, Parser(&source).Document(*root)};
  if (problems->size() == before && out.steps.empty()) {
    source.Invalid(root->line, "steps", "there are no steps");
  }
  if (problems->size() > before) return std::nullopt;
  return out;
}

}  // namespace odyssey::scenario
