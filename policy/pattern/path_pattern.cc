#include "policy/pattern/path_pattern.h"

#include <algorithm>
#include <span>

#include "policy/pattern/name_pattern.h"

namespace odyssey::pattern {
namespace {

constexpr std::string_view kAnyDepth = "**";
using Components = std::span<const std::string>;

std::vector<std::string_view> Split(std::string_view path) {
  std::vector<std::string_view> out;
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    out.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

// How far into the pattern one may be after some components: all possibilities at once, so that the
// time is the product of both lengths whatever the pattern.
class Walk final {
 public:
  explicit Walk(Components pattern) : pattern_(pattern), at_(pattern.size() + 1, false) {
    at_[0] = true;
    SkipAnyDepth(&at_);
  }

  void Step(std::string_view name) {
    std::vector<bool> next(at_.size(), false);
    for (size_t i = 0; i < pattern_.size(); ++i) {
      if (!at_[i]) continue;
      if (pattern_[i] == kAnyDepth) {
        next[i] = true;
        if (i + 1 == pattern_.size()) next[i + 1] = true;
      } else if (NameMatches(name, pattern_[i])) {
        next[i + 1] = true;
      }
    }
    SkipAnyDepth(&next);
    at_ = std::move(next);
  }

  bool at_end() const { return at_.back(); }
  // What is left to match is the same. Only with a walk of the same pattern.
  bool IsWhere(const Walk& other) const { return at_ == other.at_; }

 private:
  // `**` may stand for nothing, but not at the end.
  void SkipAnyDepth(std::vector<bool>* at) const {
    for (size_t i = 0; i + 1 < pattern_.size(); ++i) {
      if ((*at)[i] && pattern_[i] == kAnyDepth) (*at)[i + 1] = true;
    }
  }

  const Components pattern_;
  std::vector<bool> at_;
};

Status Refuse(std::string_view text, const std::string& why) {
  return InvalidArgument("\"" + std::string(text.substr(0, 100)) + "\": " + why +
                         "; allowed: components separated by /, with * and ? in a component, and "
                         "** as a whole one");
}

}  // namespace

std::string_view TakenLiterally(std::string_view text) {
  if (text.empty()) return "";
  const auto has_pair = [&](char open, char close) {
    return text.find(close, std::min(text.find(open), text.size())) != std::string_view::npos;
  };
  if (text.front() == '!') return "!";
  if (text.front() == ' ' || text.back() == ' ') return " ";
  if (text.find('\\') != std::string_view::npos) return "\\";
  if (has_pair('[', ']')) return "[";
  return has_pair('{', '}') ? "{" : "";
}

Result<PathPattern> PathPattern::Parse(std::string_view text) {
  if (text.empty()) return Refuse(text, "is empty");
  if (text.size() > kMaxPatternBytes) return Refuse(text, "is longer than 4095 bytes");
  if (text.front() == '/') return Refuse(text, "is absolute");
  if (text.back() == '/') return Refuse(text, "ends with /");
  PathPattern out;
  for (const std::string_view component : Split(text)) {
    if (component.empty()) return Refuse(text, "has an empty component");
    if (component == "." || component == "..") return Refuse(text, "has a component . or ..");
    if (component != kAnyDepth && component.find(kAnyDepth) != std::string_view::npos) {
      return Refuse(text, "has ** beside other characters");
    }
    for (const unsigned char c : component) {
      if (c < 0x20 || c == 0x7f) return Refuse("", "has a control character");
    }
    out.components_.emplace_back(component);
  }
  const auto& all = out.components_;
  if (std::count(all.begin(), all.end(), kAnyDepth) == static_cast<long>(all.size())) {
    return Refuse(text, "would deny everything");
  }
  return out;
}

bool PathPattern::Covers(std::string_view path) const {
  Walk walk(components_);
  for (const std::string_view name : Split(path)) {
    walk.Step(name);
    if (walk.at_end()) return true;
  }
  return false;
}

bool PathPattern::IsSameBelow(std::string_view one, std::string_view other) const {
  if (Covers(one) || Covers(other)) return Covers(one) && Covers(other);
  Walk walk_one(components_);
  Walk walk_other(components_);
  for (const std::string_view name : Split(one)) walk_one.Step(name);
  for (const std::string_view name : Split(other)) walk_other.Step(name);
  return walk_one.IsWhere(walk_other);
}

bool PathPattern::HasPlacesAlike() const {
  const auto last = components_.end() - 1;
  if (std::all_of(components_.begin(), last, [](const auto& c) { return c == kAnyDepth; })) {
    return false;
  }
  return std::any_of(components_.begin(), last,
                     [](const auto& c) { return c.find_first_of("*?") != c.npos; });
}

}  // namespace odyssey::pattern
