#include "agentd/ignore/glob_regex.h"

#include <cstdio>
#include <utility>
#include <vector>

namespace odyssey::ignore {
namespace {

constexpr char kWithinComponent[] = "[^/]*";
// `**` at the beginning, in the middle and at the end.
constexpr char kAnyParents[] = "(?:/?|.*/)";
constexpr char kAnyBetween[] = "(?:/|/.*/)";
constexpr char kAnythingBelow[] = "/.*";

std::string Escaped(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    char hex[8];
    snprintf(hex, sizeof(hex), "\\x%02x", static_cast<unsigned char>(c));
    out += hex;
  }
  return out;
}

// The bytes of the character that begins at `at`, of text that is UTF-8.
size_t CharacterLength(std::string_view text, size_t at) {
  size_t end = at + 1;
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
  return end - at;
}

class Translation final {
 public:
  explicit Translation(std::string_view glob) : glob_(glob) {}

  std::optional<std::string> Run() {
    while (at_ < glob_.size()) {
      if (!TakeOne()) return std::nullopt;
    }
    if (branches_.size() != 1) return std::nullopt;
    if (branches_[0] == Pieces{kAnyParents}) return ".*";
    return Joined(branches_[0]);
  }

 private:
  using Pieces = std::vector<std::string>;

  static std::string Joined(const Pieces& pieces) {
    std::string out;
    for (const std::string& piece : pieces) out += piece;
    return out;
  }
  bool InBraces() const { return branches_.size() > 1; }
  Pieces& Last() { return branches_.back(); }
  char Peek() const { return at_ < glob_.size() ? glob_[at_] : '\0'; }

  bool TakeOne() {
    const char c = glob_[at_];
    switch (c) {
      case '?':
        Last().emplace_back("[^/]");
        break;
      case '*':
        TakeStars();
        return true;
      case '[':
        ++at_;
        return TakeClass();
      case '{':
        if (InBraces()) return false;
        branches_.emplace_back();
        break;
      case '}':
        CloseBraces();
        break;
      case ',':
        if (InBraces()) {
          branches_.emplace_back();
        } else {
          Last().push_back(Escaped(","));
        }
        break;
      case '\\':
        if (++at_ == glob_.size()) return false;
        TakeLiteral();
        return true;
      default:
        TakeLiteral();
        return true;
    }
    ++at_;
    return true;
  }

  void TakeLiteral() {
    const size_t length = CharacterLength(glob_, at_);
    Last().push_back(Escaped(glob_.substr(at_, length)));
    at_ += length;
  }

  // An empty alternative is none. A brace that closes nothing is a piece without text.
  void CloseBraces() {
    std::string any;
    for (size_t i = 1; i < branches_.size(); ++i) {
      const std::string one = Joined(branches_[i]);
      if (!one.empty()) any += (any.empty() ? "" : "|") + one;
    }
    branches_.resize(1);
    Last().push_back(any.empty() ? "" : "(?:" + any + ")");
  }

  // `**` counts as such where it is a whole component; elsewhere it is two of `*`.
  void TakeStars() {
    const char before = at_ == 0 ? '\0' : glob_[at_ - 1];
    const bool two = glob_.substr(at_, 2) == "**";
    at_ += two ? 2 : 1;
    const bool ends = at_ == glob_.size() || (InBraces() && (Peek() == ',' || Peek() == '}'));
    const bool begins = Last().empty();
    const bool whole =
        begins ? at_ == glob_.size() || Peek() == '/' : before == '/' && (ends || Peek() == '/');
    if (!two || !whole) {
      Last().emplace_back(kWithinComponent);
      return;
    }
    if (Peek() == '/') ++at_;
    if (begins) {
      Last().emplace_back(kAnyParents);
      return;
    }
    std::string& slash = Last().back();
    if (slash == kAnyParents || slash == kAnythingBelow) return;
    slash = ends ? kAnythingBelow : kAnyBetween;
  }

  bool TakeClass() {
    std::string out = "[";
    if (Peek() == '!' || Peek() == '^') {
      out += '^';
      ++at_;
    }
    std::vector<std::pair<std::string_view, std::string_view>> ranges;
    bool in_range = false;
    for (bool first = true;; first = false) {
      if (at_ == glob_.size()) return false;
      const std::string_view c = glob_.substr(at_, CharacterLength(glob_, at_));
      at_ += c.size();
      if (c == "]" && !first) break;
      if (c == "-" && !first && !in_range) {
        in_range = true;
      } else if (std::exchange(in_range, false)) {
        ranges.back().second = c;
        if (c < ranges.back().first) return false;
      } else {
        ranges.emplace_back(c, c);
      }
    }
    if (in_range) ranges.emplace_back("-", "-");
    for (const auto& [low, high] : ranges) {
      out += Escaped(low) + (low == high ? "" : "-" + Escaped(high));
    }
    Last().push_back(out + "]");
    return true;
  }

  const std::string_view glob_;
  size_t at_ = 0;
  std::vector<Pieces> branches_ = {Pieces()};  // the glob's, then those of open braces
};

}  // namespace

std::optional<std::string> GlobRegex(std::string_view glob) { return Translation(glob).Run(); }

}  // namespace odyssey::ignore
