#include "policy/difference/globs.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "policy/egress/pattern.h"

namespace odyssey::difference {
namespace {

constexpr std::string_view kAny = "**";
using Parts = std::vector<std::string_view>;

Parts Split(std::string_view text, char separator) {
  Parts parts;
  for (;;) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

// Whether `outer`, in which some elements stand for any number of others, matches all of `inner`.
template <typename Sequence, typename IsStar, typename Same>
bool Matches(const Sequence& outer, const Sequence& inner, IsStar is_star, Same same) {
  constexpr size_t kNone = static_cast<size_t>(-1);
  size_t at = 0, from = 0, star = kNone, resume = 0;
  while (from < inner.size()) {
    if (at < outer.size() && is_star(outer[at])) {
      star = at++;
      resume = from;
    } else if (at < outer.size() && same(outer[at], inner[from])) {
      ++at;
      ++from;
    } else if (star != kNone) {
      at = star + 1;
      from = ++resume;
    } else {
      return false;
    }
  }
  while (at < outer.size() && is_star(outer[at])) ++at;
  return at == outer.size();
}

// A `*` of `inner` is a character that only a `*` matches.
bool SegmentCovers(std::string_view outer, std::string_view inner) {
  return Matches(
      outer, inner, [](char c) { return c == '*'; }, [](char a, char b) { return a == b; });
}

bool SegmentsCover(const Parts& outer, const Parts& inner) {
  const auto same = [](std::string_view a, std::string_view b) {
    return b != kAny && SegmentCovers(a, b);
  };
  return Matches(
      outer, inner, [](std::string_view part) { return part == kAny; }, same);
}

bool IsAll(const std::string& path) { return path.empty() || path == kAny || path == "/**"; }

bool LabelCovers(std::string_view outer, std::string_view inner) {
  return outer == inner || (outer == "*" && inner != kAny);
}

}  // namespace

bool PathCovers(const std::string& outer, const std::string& inner) {
  if (IsAll(outer)) return true;
  if (IsAll(inner)) return false;
  return SegmentsCover(Split(outer, '/'), Split(inner, '/'));
}

bool HostCovers(const std::string& outer, const std::string& inner) {
  if (outer == inner) return true;
  if (outer.empty() || inner.empty() || egress::IsAddress(inner)) return false;
  const Parts a = Split(outer, '.'), b = Split(inner, '.');
  const bool any = a[0] == kAny;
  if (any ? b.size() < a.size() : b.size() != a.size()) return false;
  const size_t fixed = any ? a.size() - 1 : a.size();
  return std::equal(a.end() - static_cast<ptrdiff_t>(fixed), a.end(),
                    b.end() - static_cast<ptrdiff_t>(fixed), LabelCovers);
}

bool TextCovers(const std::string& outer, const std::string& inner) {
  return outer.empty() || (!inner.empty() && SegmentCovers(outer, inner));
}

}  // namespace odyssey::difference
