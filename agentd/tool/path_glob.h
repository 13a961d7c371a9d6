#ifndef ODYSSEY_AGENTD_TOOL_PATH_GLOB_H_
#define ODYSSEY_AGENTD_TOOL_PATH_GLOB_H_

// Patterns of paths, as the model writes them for Glob and Grep: `*`, `?` and `[a-z]` within one
// component, `**` for any number of components, `{a,b}` for alternatives. A pattern without "/" is
// matched against the last component. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace odyssey::tools {

class PathGlob final {
 public:
  // INVALID_ARGUMENT: empty, too long, an unbalanced bracket or brace, too many alternatives.
  static Result<PathGlob> Parse(const std::string& text);

  // `path` is relative, without "." and "..".
  bool Matches(std::string_view path) const;

 private:
  using Components = std::vector<std::string>;
  std::vector<Components> alternatives_;
};

}  // namespace odyssey::tools

#endif  // ODYSSEY_AGENTD_TOOL_PATH_GLOB_H_
