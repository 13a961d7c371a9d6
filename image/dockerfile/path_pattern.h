#ifndef ODYSSEY_IMAGE_DOCKERFILE_PATH_PATTERN_H_
#define ODYSSEY_IMAGE_DOCKERFILE_PATH_PATTERN_H_

// Patterns of paths, of .dockerignore and of the sources of COPY. Pure; takes no longer than the
// pattern's length times the path's.

#include <bitset>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace odyssey::dockerfile {

// "a/b", relative, without empty components, "." and, as far as that goes, "..".
std::string CleanPath(std::string_view path);

// kAcross: `**` is any number of components.
enum class Globstar { kNone, kAcross };

class PathPattern final {
 public:
  // `*` and `?` stay within a component, `[a-z]` and `[^a-z]` are one character, `\` takes the
  // meaning of the next one. INVALID_ARGUMENT: a bracket that is not closed, a last `\`.
  static Result<PathPattern> Parse(std::string_view text, Globstar globstar);

  // Against the whole path.
  bool Matches(std::string_view path) const;
  // Whether it has more than plain characters.
  bool is_wild() const { return wild_; }

 private:
  enum class Step { kSet, kStar, kGlobstar, kEnterDirectories, kInDirectories };
  struct Token {
    Step step = Step::kSet;
    std::bitset<256> set;  // of kSet
  };

  std::vector<Token> tokens_;
  bool wild_ = false;
};

}  // namespace odyssey::dockerfile

#endif  // ODYSSEY_IMAGE_DOCKERFILE_PATH_PATTERN_H_
