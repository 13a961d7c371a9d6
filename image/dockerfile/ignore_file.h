#ifndef ODYSSEY_IMAGE_DOCKERFILE_IGNORE_FILE_H_
#define ODYSSEY_IMAGE_DOCKERFILE_IGNORE_FILE_H_

// A .dockerignore. Pure.

#include <string_view>
#include <vector>

#include "image/dockerfile/path_pattern.h"
#include "image/dockerfile/problem.h"

namespace odyssey::dockerfile {

inline constexpr size_t kMaxIgnoreFileBytes = size_t{256} << 10;

class IgnoreFile final {
 public:
  // A line each: a pattern, "!" and a pattern of what is kept all the same, "#" and a comment.
  static IgnoreFile Parse(std::string_view text, Problems* problems);

  // By the last pattern that fits the path, relative to the context, or a directory above it.
  bool Ignores(std::string_view path) const;
  // Whether something below an ignored directory could be kept.
  bool keeps_any() const { return keeps_any_; }

 private:
  struct Rule {
    PathPattern pattern;
    bool keep = false;
  };
  std::vector<Rule> rules_;
  bool keeps_any_ = false;
};

}  // namespace odyssey::dockerfile

#endif  // ODYSSEY_IMAGE_DOCKERFILE_IGNORE_FILE_H_
