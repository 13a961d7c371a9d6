#include "agentd/model/scenario_player.h"

#include <regex.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "agentd/model/render.h"

namespace odyssey::model {
namespace {

using Json = nlohmann::json;
using scenario::ArgumentTemplate;
using scenario::Calls;
using scenario::Condition;
using scenario::End;
using scenario::Fail;
using scenario::If;
using scenario::Operator;
using scenario::Say;
using scenario::Scenario;
using scenario::Set;
using scenario::Step;
using scenario::Think;
using scenario::ToolCallStep;

// Most bytes of a value that a pattern is matched against; the rest is not looked at.
constexpr size_t kMaxMatchedBytes = 256 * 1024;

bool Matches(const std::string& pattern, const std::string& text) {
  regex_t compiled;
  // The parser has checked it.
  if (regcomp(&compiled, pattern.c_str(), REG_EXTENDED | REG_NOSUB | REG_NEWLINE) != 0)
    return false;
  const bool matched =
      regexec(&compiled, text.substr(0, kMaxMatchedBytes).c_str(), 0, nullptr, 0) == 0;
  regfree(&compiled);
  return matched;
}

Result<double> NumberOf(const Json& value) {
  if (value.is_number()) return value.get<double>();
  std::string text = TextOf(value);
  text.erase(0, text.find_first_not_of(" \t\r\n"));
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  const Json number = Json::parse(text, nullptr, false);
  if (!number.is_number()) {
    return FailedPrecondition("\"" + text.substr(0, 80) +
                              "\" is compared as a number, and is none");
  }
  return number.get<double>();
}

// What a result is to later steps: its own fields, and always `success` and `error`.
Json ToValue(const std::string& result_json) {
  Json value = Json::parse(result_json, nullptr, false);
  if (!value.is_object()) value = Json{{"value", value.is_discarded() ? Json(result_json) : value}};
  const bool success = !value.contains("error");
  value["success"] = success;
  if (success) value["error"] = "";
  return value;
}

enum class Walk { kOn, kStopped };

class Player final {
 public:
  Player(const Scenario& scenario, const std::string& prompt, const std::vector<PlayedCall>& calls)
      : scenario_(scenario), calls_(calls) {
    scope_["prompt"] = prompt;
  }

  Played Play() {
    played_.end = Steps(scenario_.steps).status();
    if (next_ == calls_.size()) return std::move(played_);
    played_.events.clear();
    if (played_.end.ok()) {
      played_.end =
          Internal(scenario_.file + ": the turn holds calls that the scenario does not make");
    }
    return std::move(played_);
  }

 private:
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the scenario, which is bounded.
  Result<Walk> Steps(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      Result<Walk> walk = std::visit([this](const auto& what) { return Do(what); }, step.what);
      if (!walk.ok()) return At(step.line, walk.status());
      if (*walk == Walk::kStopped) return Walk::kStopped;
    }
    return Walk::kOn;
  }

  // The innermost step names the place.
  Status At(int line, const Status& status) {
    if (std::exchange(placed_, true)) return status;
    return {status.code(), scenario_.file + ":" + std::to_string(line) + ": " + status.message()};
  }

  Result<Walk> Do(const Say& say) {
    ODY_ASSIGN_OR_RETURN(std::string text, RenderText(say.text, scope_));
    if (!text.empty()) played_.events.emplace_back(TextDelta{std::move(text)});
    return Walk::kOn;
  }
  Result<Walk> Do(const Think& think) {
    ODY_ASSIGN_OR_RETURN(std::string text, RenderText(think.text, scope_));
    if (!text.empty()) played_.events.emplace_back(ReasoningDelta{std::move(text)});
    return Walk::kOn;
  }
  Result<Walk> Do(const scenario::Usage& usage) {
    played_.usage.set_input_tokens(usage.input);
    played_.usage.set_cached_input_tokens(usage.cached_input);
    played_.usage.set_output_tokens(usage.output);
    return Walk::kOn;
  }
  Result<Walk> Do(const Set& set) {
    for (const auto& [name, text] : set.values) {
      ODY_ASSIGN_OR_RETURN(scope_[name], Render(text, scope_));
    }
    return Walk::kOn;
  }
  Result<Walk> Do(const Fail& fail) {
    ODY_ASSIGN_OR_RETURN(std::string message, RenderText(fail.message, scope_));
    return FailedPrecondition(std::move(message));
  }
  Result<Walk> Do(const End&) { return Walk::kStopped; }

  // NOLINTNEXTLINE(misc-no-recursion)
  Result<Walk> Do(const If& branch) {
    ODY_ASSIGN_OR_RETURN(const bool holds, Holds(branch.condition));
    return Steps(holds ? branch.then : branch.otherwise);
  }

  Result<Walk> Do(const Calls& step) {
    if (next_ < calls_.size()) return Recall(step);
    std::vector<ModelEvent> made;  // all or none
    for (size_t i = 0; i < step.calls.size(); ++i) {
      ODY_ASSIGN_OR_RETURN(const Json arguments, Evaluate(step.calls[i].arguments));
      made.emplace_back(ToolUse{"call-" + std::to_string(next_ + i + 1), step.calls[i].tool,
                                arguments.dump(-1, ' ', false, Json::error_handler_t::replace)});
    }
    std::move(made.begin(), made.end(), std::back_inserter(played_.events));
    return Walk::kStopped;
  }

  // The step was played before: what was said up to here was heard, its results are known.
  Result<Walk> Recall(const Calls& step) {
    played_.events.clear();
    played_.usage.Clear();
    for (const ToolCallStep& call : step.calls) {
      if (next_ == calls_.size() || calls_[next_].tool != call.tool) {
        return Internal("the turn's calls are not the scenario's");
      }
      if (!call.as.empty()) scope_[call.as] = ToValue(calls_[next_].result_json);
      ++next_;
    }
    return Walk::kOn;
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  Result<Json> Evaluate(const ArgumentTemplate& argument) const {
    switch (argument.kind) {
      case ArgumentTemplate::Kind::kLiteral:
        return argument.literal;
      case ArgumentTemplate::Kind::kText:
        return Render(argument.text, scope_);
      default:
        break;
    }
    const bool map = argument.kind == ArgumentTemplate::Kind::kMap;
    Json out = map ? Json::object() : Json::array();
    for (size_t i = 0; i < argument.items.size(); ++i) {
      ODY_ASSIGN_OR_RETURN(Json value, Evaluate(argument.items[i]));
      if (map) {
        out[argument.keys[i]] = std::move(value);
      } else {
        out.push_back(std::move(value));
      }
    }
    return out;
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  Result<bool> Holds(const Condition& condition) {
    if (condition.kind == Condition::Kind::kTest) return Test(condition);
    const bool any = condition.kind == Condition::Kind::kAny;
    for (const Condition& part : condition.parts) {
      ODY_ASSIGN_OR_RETURN(const bool holds, Holds(part));
      if (condition.kind == Condition::Kind::kNot) return !holds;
      if (holds == any) return any;
    }
    return !any;
  }

  Result<bool> Test(const Condition& test) {
    ODY_ASSIGN_OR_RETURN(const Json value, Render(test.value, scope_));
    const std::string text = TextOf(value);
    switch (test.op) {
      case Operator::kMatches:
        return Matches(test.pattern, text);
      case Operator::kEmpty:
        return text.empty() == test.wanted;
      case Operator::kEquals:
      case Operator::kContains: {
        ODY_ASSIGN_OR_RETURN(const std::string operand, RenderText(test.operand, scope_));
        if (test.op == Operator::kEquals) return text == operand;
        return text.find(operand) != std::string::npos;
      }
      default:
        break;
    }
    ODY_ASSIGN_OR_RETURN(const double number, NumberOf(value));
    if (test.op == Operator::kLess) return number < test.number;
    if (test.op == Operator::kAtMost) return number <= test.number;
    if (test.op == Operator::kGreater) return number > test.number;
    return number >= test.number;
  }

  const Scenario& scenario_;
  const std::vector<PlayedCall>& calls_;
  Scope scope_;
  Played played_;
  size_t next_ = 0;  // the first of calls_ that was not recalled
  bool placed_ = false;
};

}  // namespace

Played PlayScenario(const Scenario& scenario, const std::string& prompt,
                    const std::vector<PlayedCall>& calls) {
  return Player(scenario, prompt, calls).Play();
}

}  // namespace odyssey::model
