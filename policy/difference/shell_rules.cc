#include "policy/difference/shell_rules.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "policy/dialect/path_text.h"

namespace odyssey::difference {
namespace {

using dialect::llm_do::Path;
using dialect::llm_do::ShellRule;
using dialect::llm_do::Worker;

using Words = std::vector<std::string>;
// Where the arguments of a command are: bit 0 outside of every named path, bit n in the n-th place
// and in none that lies deeper.
using Places = unsigned;

// Beyond it not every set of places is looked at, only those of one and of two.
constexpr size_t kMaxPlacesAtOnce = 7;

enum class Outcome { kRefused, kAsks, kRuns };

struct Verdict {
  Outcome outcome = Outcome::kRefused;
  bool network = false;
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

std::string Join(const Words& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

bool BeginsWith(const Words& words, const Words& pattern) {
  return words.size() >= pattern.size() &&
         std::equal(pattern.begin(), pattern.end(), words.begin());
}

// The commands that two workers can tell apart, one of each kind.
struct Kinds {
  std::vector<std::string> places;  // of both workers' paths, sorted
  std::set<Words> beginnings;       // the patterns of both, and none
  std::vector<Places> argument_sets;
};

std::vector<Places> ArgumentSets(size_t places) {
  std::vector<Places> sets;
  const size_t bits = places + 1;
  if (bits <= kMaxPlacesAtOnce) {
    for (Places set = 0; set < (1u << bits); ++set) sets.push_back(set);
    return sets;
  }
  sets.push_back(0);
  for (size_t a = 0; a < bits && a < 32; ++a) {
    for (size_t b = a; b < bits && b < 32; ++b) sets.push_back((1u << a) | (1u << b));
  }
  return sets;
}

Kinds KindsOf(const Worker& first, const Worker& second) {
  Kinds kinds;
  std::set<std::string> places;
  kinds.beginnings.insert(Words());
  for (const Worker* worker : {&first, &second}) {
    for (const Path& path : worker->paths) places.insert(path.place);
    for (const ShellRule& rule : worker->shell_rules) {
      kinds.beginnings.insert(rule.words);
    }
  }
  kinds.places.assign(places.begin(), places.end());
  kinds.argument_sets = ArgumentSets(kinds.places.size());
  return kinds;
}

// What a worker says of the commands of `kinds`.
class Rules final {
 public:
  Rules(const Worker& worker, const Kinds& kinds) : worker_(worker) {
    for (const ShellRule& rule : worker.shell_rules) {
      patterns_.push_back(rule.words);
      allowed_.push_back(AllowedBy(rule, kinds));
    }
  }

  Verdict Decide(const Words& words, Places arguments) const {
    for (size_t i = 0; i < patterns_.size(); ++i) {
      const ShellRule& rule = worker_.shell_rules[i];
      if (!BeginsWith(words, patterns_[i]) || (arguments & ~allowed_[i]) != 0) continue;
      return {rule.approval_required ? Outcome::kAsks : Outcome::kRuns,
              rule.grants_network || worker_.network};
    }
    if (!worker_.shell_default) return {};
    return {*worker_.shell_default ? Outcome::kAsks : Outcome::kRuns, worker_.network};
  }

  // Whether what is said of a command is beyond what the others say. That all of the worker's have
  // the network is no matter of its rules.
  bool IsBeyond(const Verdict& own, const Verdict& other) const {
    return own.outcome > other.outcome || (own.network && !other.network && !worker_.network);
  }

 private:
  // The places in which a rule lets arguments be.
  Places AllowedBy(const ShellRule& rule, const Kinds& kinds) const {
    if (rule.paths.empty()) return ~0u;
    Places allowed = 0;
    for (const Path& path : worker_.paths) {
      if (std::find(rule.paths.begin(), rule.paths.end(), path.name) == rule.paths.end()) continue;
      for (size_t i = 0; i < kinds.places.size() && i < 31; ++i) {
        if (dialect::IsAtOrBelow(kinds.places[i], path.place)) allowed |= 1u << (i + 1);
      }
    }
    return allowed;
  }

  const Worker& worker_;
  std::vector<Words> patterns_;
  std::vector<Places> allowed_;
};

std::string Describe(const Verdict& verdict) {
  const std::string network = verdict.network ? " with the network" : "";
  switch (verdict.outcome) {
    case Outcome::kRefused:
      return "refused";
    case Outcome::kAsks:
      return "asks, then runs" + network;
    case Outcome::kRuns:
      break;
  }
  return "runs without asking" + network;
}

std::string DescribeArguments(Places arguments, const Kinds& kinds) {
  if (arguments == 0) return " without a path";
  std::string out;
  const auto add = [&](const std::string& place) { out += (out.empty() ? "" : " and ") + place; };
  for (size_t i = 0; i < kinds.places.size() && i < 31; ++i) {
    if ((arguments & (1u << (i + 1))) != 0) add(kinds.places[i]);
  }
  if ((arguments & 1) != 0) add("elsewhere");
  return " with arguments in " + out;
}

// What `more` lets happen of the commands that begin so, and `less` does not; "": nothing. Said of
// the simplest arguments for which that is so, unless it is so for all.
std::string Excess(const Words& words, const Rules& more, const Rules& less, const Kinds& kinds) {
  const Places* shown = nullptr;
  bool always = true;
  for (const Places& arguments : kinds.argument_sets) {
    const bool beyond = more.IsBeyond(more.Decide(words, arguments), less.Decide(words, arguments));
    always = always && beyond;
    if (beyond && shown == nullptr) shown = &arguments;
  }
  if (shown == nullptr) return "";
  const std::string subject =
      words.empty() ? "shell commands that no rule names" : "shell `" + Join(words) + "`";
  return subject + (always ? "" : DescribeArguments(*shown, kinds)) + ": " +
         Describe(more.Decide(words, *shown)) +
         ", where the other says: " + Describe(less.Decide(words, *shown));
}

bool SameRules(const Worker& first, const Worker& second) {
  return std::equal(first.shell_rules.begin(), first.shell_rules.end(), second.shell_rules.begin(),
                    second.shell_rules.end(), [](const ShellRule& a, const ShellRule& b) {
                      return a.pattern == b.pattern && a.paths == b.paths &&
                             a.approval_required == b.approval_required &&
                             a.grants_network == b.grants_network;
                    });
}

}  // namespace

Difference CompareShellRules(const Worker& first, const Worker& second) {
  const Kinds kinds = KindsOf(first, second);
  const Rules a(first, kinds), b(second, kinds);
  Difference out;
  for (const Words& words : kinds.beginnings) {
    const std::string less = Excess(words, a, b, kinds), more = Excess(words, b, a, kinds);
    if (!less.empty()) out.only_first.push_back(less);
    if (!more.empty()) out.only_second.push_back(more);
  }
  const bool all = kinds.places.size() + 1 <= kMaxPlacesAtOnce;
  if (!all && !SameRules(first, second) && out == Difference()) {
    out.undecided.push_back("shell rules: they are not the same, over " +
                            std::to_string(kinds.places.size()) + " paths");
  }
  return out;
}

}  // namespace odyssey::difference
