#include "policy/rules/target_match.h"

#include <algorithm>
#include <cstdint>

#include "policy/rules/shell_split.h"

namespace odyssey::rules {
namespace {

// What a state of the automaton has seen of the one ":" that a command's candidate holds.
constexpr uint8_t kColonAhead = 1;
constexpr uint8_t kColonSeen = 2;

// Whether unknown text may be anything (is a match possible) or must not matter (is it certain).
enum class Unknown { kAnything, kOnlyUnderStar };

// Whether a pattern of the shell stands for a part of one name or for several words.
enum class Patterns { kOfOneName, kOfWords };

// The target as a nondeterministic automaton: state i = the first i characters are matched.
class Automaton final {
 public:
  Automaton(std::string_view target, Unknown unknown, Patterns patterns)
      : target_(target),
        unknown_(unknown),
        patterns_(patterns),
        states_(target.size() + 1),
        next_(target.size() + 1) {
    states_[0] = kColonAhead;
    FollowStars(&states_);
  }

  // Every step is false once no match is possible any more.
  bool Text(std::string_view text) {
    for (const char c : text) {
      const Slash slash =
          c == kGlob && patterns_ == Patterns::kOfOneName ? Slash::kNo : Slash::kYes;
      if (!(IsUnknown(c) ? AnyText(slash) : Step(c, kColonAhead | kColonSeen, 0))) return false;
    }
    return true;
  }
  bool Separator() { return Step(' ', kColonAhead | kColonSeen, kColonAhead); }

  bool MatchesWithColon() {
    if ((states_.back() & kColonSeen) != 0) return true;
    return Step(':', 0, kColonAhead) && (states_.back() & kColonSeen) != 0;
  }
  bool Matches() const { return states_.back() != 0; }

 private:
  enum class Slash { kNo, kYes };

  // Moves over `c` the states with a flag in `plain`, and over ":" those with one in `colon`, which
  // have seen it then.
  bool Step(char c, uint8_t plain, uint8_t colon) {
    std::fill(next_.begin(), next_.end(), 0);
    for (size_t i = 0; i < target_.size(); ++i) {
      if (states_[i] == 0) continue;
      const bool star = target_[i] == '*';
      const size_t to = star ? i : i + 1;
      if (star || target_[i] == c) next_[to] |= states_[i] & plain;
      if ((star || target_[i] == ':') && (states_[i] & colon) != 0) next_[to] |= kColonSeen;
    }
    return Commit();
  }

  bool AnyText(Slash slash) {
    std::fill(next_.begin(), next_.end(), 0);
    uint8_t reached = 0;
    for (size_t i = 0; i < states_.size(); ++i) {
      if (unknown_ == Unknown::kAnything) {
        // The unknown text may hold the separator that becomes the ":".
        if (states_[i] != 0) reached |= states_[i] | kColonSeen;
        next_[i] = reached;
        if (slash == Slash::kNo && i < target_.size() && target_[i] == '/') reached = 0;
      } else if (i < target_.size() && target_[i] == '*') {
        next_[i] = states_[i];
      }
    }
    return Commit();
  }

  bool Commit() {
    FollowStars(&next_);
    states_.swap(next_);
    return std::any_of(states_.begin(), states_.end(), [](uint8_t flags) { return flags != 0; });
  }

  void FollowStars(std::vector<uint8_t>* states) const {
    for (size_t i = 0; i < target_.size(); ++i) {
      if (target_[i] == '*') (*states)[i + 1] |= (*states)[i];
    }
  }

  const std::string_view target_;
  const Unknown unknown_;
  const Patterns patterns_;
  std::vector<uint8_t> states_;
  std::vector<uint8_t> next_;
};

bool CommandMatches(std::string_view target, const std::vector<std::string>& words,
                    Unknown unknown) {
  Automaton automaton(target, unknown, Patterns::kOfWords);
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0 && !automaton.Separator()) return false;
    if (!automaton.Text(words[i])) return false;
  }
  return automaton.MatchesWithColon();
}

bool TextMatches(std::string_view target, std::string_view text, Unknown unknown) {
  Automaton automaton(target, unknown, Patterns::kOfOneName);
  return automaton.Text(text) && automaton.Matches();
}

}  // namespace

Match MatchCommand(std::string_view target, const std::vector<std::string>& words) {
  if (CommandMatches(target, words, Unknown::kOnlyUnderStar)) return Match::kYes;
  if (std::none_of(words.begin(), words.end(), HasUnknown)) return Match::kNo;
  return CommandMatches(target, words, Unknown::kAnything) ? Match::kMaybe : Match::kNo;
}

Match MatchText(std::string_view target, std::string_view text) {
  if (TextMatches(target, text, Unknown::kOnlyUnderStar)) return Match::kYes;
  if (!HasUnknown(text)) return Match::kNo;
  return TextMatches(target, text, Unknown::kAnything) ? Match::kMaybe : Match::kNo;
}

}  // namespace odyssey::rules
