#include "policy/egress/glob.h"

#include <optional>

namespace odyssey::egress {
namespace {

// The segments of "a/b/c", from the first to the last.
class Segments final {
 public:
  explicit Segments(std::string_view text) : rest_(text) {}

  bool done() const { return done_; }
  std::string_view segment() const { return rest_.substr(0, rest_.find('/')); }
  bool IsAnyNumber() const { return !done_ && segment() == "**"; }

  void Advance() {
    const size_t slash = rest_.find('/');
    done_ = slash == std::string_view::npos;
    if (!done_) rest_.remove_prefix(slash + 1);
  }

 private:
  std::string_view rest_;
  bool done_ = false;
};

// Takes the last label off.
std::string_view TakeLast(std::string_view* labels) {
  const size_t dot = labels->rfind('.');
  if (dot == std::string_view::npos) {
    const std::string_view label = *labels;
    *labels = {};
    return label;
  }
  const std::string_view label = labels->substr(dot + 1);
  *labels = labels->substr(0, dot);
  return label;
}

// Where two choices are possible, the last `**` takes as few segments as it can; what an earlier
// one could take more of, the last one can take as well.
bool SegmentsMatch(Segments pattern, Segments path) {
  std::optional<Segments> after_star;
  Segments star_path = path;
  while (true) {
    if (pattern.IsAnyNumber()) {
      pattern.Advance();
      after_star = pattern;
      star_path = path;
      continue;
    }
    if (pattern.done() && path.done()) return true;
    if (!pattern.done() && !path.done() && TextMatches(pattern.segment(), path.segment())) {
      pattern.Advance();
      path.Advance();
      continue;
    }
    if (!after_star || star_path.done()) return false;
    star_path.Advance();
    path = star_path;
    pattern = *after_star;
  }
}

}  // namespace

bool HostMatches(std::string_view pattern, std::string_view host) {
  const size_t last_star = pattern.rfind('*');
  if (last_star == std::string_view::npos) return pattern == host;
  if (!host.ends_with(pattern.substr(last_star + 1))) return false;
  while (!pattern.empty() && !host.empty()) {
    if (pattern == "**") return true;
    const std::string_view wanted = TakeLast(&pattern);
    const std::string_view label = TakeLast(&host);
    if (label.empty() || (wanted != "*" && wanted != label)) return false;
  }
  return pattern.empty() && host.empty();
}

bool PathMatches(std::string_view pattern, std::string_view path) {
  if (pattern.empty() || pattern == "**") return true;
  if (pattern[0] != '/' || path.empty() || path[0] != '/') return false;
  return SegmentsMatch(Segments(pattern.substr(1)), Segments(path.substr(1)));
}

bool TextMatches(std::string_view pattern, std::string_view text) {
  size_t at = 0;
  size_t of_text = 0;
  size_t star = std::string_view::npos;
  size_t star_text = 0;
  while (of_text < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      star_text = of_text;
    } else if (at < pattern.size() && pattern[at] == text[of_text]) {
      ++at;
      ++of_text;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      of_text = ++star_text;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

}  // namespace odyssey::egress
