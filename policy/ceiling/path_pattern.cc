#include "policy/ceiling/path_pattern.h"

#include <algorithm>

#include "policy/pattern/name_pattern.h"
#include "policy/plan/plan_check.h"

namespace odyssey::ceiling {
namespace {

// Takes the first component off a path that begins with a slash; "" at its end.
std::string_view TakeComponent(std::string_view* path) {
  if (path->size() <= 1) {
    *path = {};
    return {};
  }
  const size_t end = std::min(path->find('/', 1), path->size());
  const std::string_view component = path->substr(1, end - 1);
  path->remove_prefix(end);
  return component;
}

bool IsHome(std::string_view home) { return home != "/" && plan::IsNormalizedAbsolute(home); }

}  // namespace

Status CheckPathPattern(std::string_view text) {
  const bool in_home = text == "~" || text.substr(0, 2) == "~/";
  const std::string absolute = in_home ? "/home" + std::string(text.substr(1)) : std::string(text);
  if (!plan::IsNormalizedAbsolute(absolute)) {
    return InvalidArgument(
        "must be an absolute path, or one that begins with `~/`, without `.`, `..` and a slash at "
        "its end");
  }
  if (text.find_first_of("?[{\\") != std::string_view::npos) {
    return InvalidArgument("only `*` stands for other characters, not `?`, `[`, `{` and `\\`");
  }
  if (text.find("**") != std::string_view::npos) {
    return InvalidArgument("`**` is not needed: a directory is meant with everything below it");
  }
  return OkStatus();
}

Place Compare(std::string_view path, std::string_view pattern, std::string_view home) {
  if (pattern[0] == '~') {
    if (!IsHome(home)) return Place::kApart;
    // The home itself is a name, not a pattern: whatever characters it holds stand for themselves.
    pattern.remove_prefix(1);
    if (!plan::IsWithin(path, home)) {
      return plan::IsWithin(home, path) ? Place::kAround : Place::kApart;
    }
    path.remove_prefix(home.size());
  }
  for (;;) {
    const std::string_view wanted = TakeComponent(&pattern);
    if (wanted.empty()) return Place::kWithin;
    const std::string_view found = TakeComponent(&path);
    if (found.empty()) return Place::kAround;
    if (!pattern::NameMatches(found, wanted)) return Place::kApart;
  }
}

}  // namespace odyssey::ceiling
