#include "policy/rules/script_effects.h"

#include <algorithm>
#include <cctype>

namespace odyssey::rules {
namespace {

bool IsWordChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Reads the commands of a sed script one after the other.
class SedReader final {
 public:
  explicit SedReader(std::string_view script) : script_(script) {}

  ScriptEffects Read() {
    while (Address()) Command();
    return std::move(effects_);
  }

 private:
  bool AtEnd() const { return at_ >= script_.size(); }

  // Moves past `delimiter`, which a backslash hides and which a bracket expression may hold.
  void Past(char delimiter) {
    while (!AtEnd() && script_[at_] != delimiter) at_ += script_[at_] == '\\' ? 2 : 1;
    ++at_;
  }

  std::string_view Line() {
    const size_t end = std::min(script_.find('\n', at_), script_.size());
    std::string_view line = script_.substr(std::min(at_, end), end - std::min(at_, end));
    at_ = end;
    while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
    return line;
  }

  // Moves to the letter of the next command; false: there is none.
  bool Address() {
    while (!AtEnd()) {
      const char c = script_[at_];
      if (c == '/') {
        ++at_;
        Past('/');
      } else if (c == '\\' && at_ + 1 < script_.size()) {
        const char delimiter = script_[at_ + 1];
        at_ += 2;
        Past(delimiter);
      } else if (std::string_view(" \t\n;{}!,0123456789$~+IM").find(c) != std::string_view::npos) {
        ++at_;
      } else {
        return true;
      }
    }
    return false;
  }

  void Command() {
    const char c = script_[at_++];
    if (c == 's') return Substitute();
    if (c == 'w' || c == 'W') return effects_.written.emplace_back(Line()), void();
    if (c == 'r' || c == 'R') return effects_.read.emplace_back(Line()), void();
    if (c == 'y') {
      Parts();
    } else if (std::string_view("aic#:btT").find(c) != std::string_view::npos) {
      if (std::string_view("btT").find(c) != std::string_view::npos) {
        at_ = std::min(script_.find_first_of(";\n}", at_), script_.size());
      } else {
        Line();
      }
    } else if (std::string_view("pPdDgGhHxnNqQlFz=").find(c) == std::string_view::npos) {
      effects_.runs_commands = true;  // e, or not plain
      Line();
    }
  }

  // Past the second and third delimiter.
  void Parts() {
    if (AtEnd()) return;
    const char delimiter = script_[at_++];
    Past(delimiter);
    Past(delimiter);
  }

  void Substitute() {
    Parts();
    for (; !AtEnd() && (IsWordChar(script_[at_])); ++at_) {
      if (script_[at_] == 'e') effects_.runs_commands = true;
      if (script_[at_] != 'w') continue;
      ++at_;
      return effects_.written.emplace_back(Line()), void();
    }
  }

  const std::string_view script_;
  size_t at_ = 0;
  ScriptEffects effects_;
};

// Whether a ">" follows before the end of the statement that begins at `at`. A "/" may begin a
// regular expression, which holds anything: then the end is that of the script.
bool RedirectsStatement(std::string_view script, size_t at) {
  bool in_string = false, may_end = true;
  for (; at < script.size(); ++at) {
    const char c = script[at];
    if (c == '\\') {
      ++at;
    } else if (c == '"') {
      in_string = !in_string;
    } else if (!in_string && c == '>') {
      return true;
    } else if (!in_string && c == '/') {
      may_end = false;
    } else if (!in_string && may_end &&
               std::string_view(";}\n").find(c) != std::string_view::npos) {
      return c == '\n' && script[at - 1] == ',' && RedirectsStatement(script, at + 1);
    }
  }
  return false;
}

bool RedirectsOutput(std::string_view script) {
  for (size_t at = script.find("print"); at != script.npos; at = script.find("print", at + 5)) {
    if (RedirectsStatement(script, at)) return true;
  }
  return false;
}

}  // namespace

ScriptEffects SedEffects(std::string_view script) { return SedReader(script).Read(); }

ScriptEffects AwkEffects(std::string_view script) {
  ScriptEffects effects;
  for (size_t i = 0; i < script.size(); ++i) {
    const bool single =
        (i + 1 >= script.size() || script[i + 1] != '|') && (i == 0 || script[i - 1] != '|');
    if (script[i] == '|' && single) effects.runs_commands = true;
    if (script[i] == '@') effects.runs_commands = true;  // @load, @include, an indirect call
  }
  for (const std::string_view word : {"system", "getline"}) {
    if (script.find(word) != script.npos) effects.runs_commands = true;
  }
  const auto holds = [&](std::string_view word) { return script.find(word) != script.npos; };
  const bool loads = holds("@include") || holds("@load");
  effects.reads_unnamed = holds("getline") || holds("ARGV") || loads;
  effects.writes_unnamed = RedirectsOutput(script) || loads;
  return effects;
}

}  // namespace odyssey::rules
