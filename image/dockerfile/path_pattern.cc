#include "image/dockerfile/path_pattern.h"

#include <utility>

namespace odyssey::dockerfile {
namespace {

size_t IndexOf(char c) { return static_cast<unsigned char>(c); }

std::bitset<256> Only(char c) {
  std::bitset<256> set;
  set.set(IndexOf(c));
  return set;
}

std::bitset<256> AllButSlash() { return ~Only('/'); }

Status NotClosed(std::string_view text) {
  return InvalidArgument("pattern \"" + std::string(text) + "\": a bracket is not closed");
}

// From behind the "[". Takes what it reads off `*rest`.
Result<std::bitset<256>> ReadClass(std::string_view text, std::string_view* rest) {
  std::bitset<256> set;
  const bool negated = !rest->empty() && rest->front() == '^';
  if (negated) rest->remove_prefix(1);
  const auto next = [&]() -> Result<char> {
    if (!rest->empty() && rest->front() == '\\') rest->remove_prefix(1);
    if (rest->empty()) return NotClosed(text);
    const char c = rest->front();
    rest->remove_prefix(1);
    return c;
  };
  while (!rest->empty() && rest->front() != ']') {
    ODY_ASSIGN_OR_RETURN(const char from, next());
    char to = from;
    if (rest->size() > 1 && rest->front() == '-' && (*rest)[1] != ']') {
      rest->remove_prefix(1);
      ODY_ASSIGN_OR_RETURN(to, next());
    }
    for (size_t i = IndexOf(from); i <= IndexOf(to); ++i) set.set(i);
  }
  if (rest->empty()) return NotClosed(text);
  rest->remove_prefix(1);
  return negated ? ~set & AllButSlash() : set;
}

}  // namespace

std::string CleanPath(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (!parts.empty()) {
      parts.pop_back();
    }
  }
  std::string out;
  for (const std::string_view part : parts) {
    if (!out.empty()) out += '/';
    out += part;
  }
  return out;
}

Result<PathPattern> PathPattern::Parse(std::string_view text, Globstar globstar) {
  PathPattern pattern;
  const auto add = [&](Step step, const std::bitset<256>& set = {}) {
    pattern.tokens_.push_back({step, set});
    pattern.wild_ = pattern.wild_ || step != Step::kSet || set.count() != 1;
  };
  std::string_view rest = text;
  while (!rest.empty()) {
    const char c = rest.front();
    if (globstar == Globstar::kAcross && rest.starts_with("**")) {
      rest.remove_prefix(2);
      if (rest.starts_with("/")) rest.remove_prefix(1);
      if (rest.empty()) {
        add(Step::kGlobstar);
        continue;
      }
      add(Step::kEnterDirectories);
      add(Step::kInDirectories);
      continue;
    }
    rest.remove_prefix(1);
    if (c == '*') {
      add(Step::kStar);
    } else if (c == '?') {
      add(Step::kSet, AllButSlash());
    } else if (c == '[') {
      ODY_ASSIGN_OR_RETURN(const std::bitset<256> set, ReadClass(text, &rest));
      pattern.wild_ = true;
      add(Step::kSet, set);
    } else if (c == '\\') {
      if (rest.empty()) {
        return InvalidArgument("pattern \"" + std::string(text) + "\": nothing follows the \\");
      }
      add(Step::kSet, Only(rest.front()));
      rest.remove_prefix(1);
    } else {
      add(Step::kSet, Only(c));
    }
  }
  return pattern;
}

bool PathPattern::Matches(std::string_view path) const {
  // In which of the tokens matching can stand; the last: behind them all.
  std::vector<bool> at(tokens_.size() + 1), next(tokens_.size() + 1);
  // What may be nothing is passed.
  const auto pass = [this](std::vector<bool>* states) {
    for (size_t i = 0; i < tokens_.size(); ++i) {
      if (!(*states)[i]) continue;
      const Step step = tokens_[i].step;
      if (step == Step::kStar || step == Step::kGlobstar) (*states)[i + 1] = true;
      if (step == Step::kEnterDirectories) (*states)[i + 2] = true;
    }
  };
  at[0] = true;
  pass(&at);
  for (const char c : path) {
    next.assign(next.size(), false);
    for (size_t i = 0; i < tokens_.size(); ++i) {
      if (!at[i]) continue;
      switch (tokens_[i].step) {
        case Step::kSet:
          if (tokens_[i].set[IndexOf(c)]) next[i + 1] = true;
          break;
        case Step::kStar:
          if (c != '/') next[i] = true;
          break;
        case Step::kGlobstar:
          next[i] = true;
          break;
        case Step::kEnterDirectories:
          next[i + 1] = true;
          if (c == '/') next[i + 2] = true;
          break;
        case Step::kInDirectories:
          next[i] = true;
          if (c == '/') next[i + 1] = true;
          break;
      }
    }
    pass(&next);
    std::swap(at, next);
  }
  return at.back();
}

}  // namespace odyssey::dockerfile
