#ifndef ODYSSEY_AGENTD_IGNORE_IGNORE_FILE_H_
#define ODYSSEY_AGENTD_IGNORE_IGNORE_FILE_H_

// The patterns of a .gitignore. Pure.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace odyssey::ignore {

// Of a text; what follows the last whole line below is not read.
inline constexpr size_t kMaxIgnoreFileBytes = 256 * 1024;

// kKept: by a pattern that begins with "!".
enum class Match { kNone, kIgnored, kKept };
enum class NodeKind { kDirectory, kOther };

class IgnoreFile final {
 public:
  // Reads up to the first line that is not UTF-8.
  static IgnoreFile Parse(std::string_view text);

  IgnoreFile();
  IgnoreFile(IgnoreFile&&) noexcept;
  IgnoreFile& operator=(IgnoreFile&&) noexcept;
  ~IgnoreFile();

  // What the last pattern that fits says. `path` is relative to the directory of the file, without
  // "." and ".."; whether a directory above it is ignored is another question.
  Match Of(std::string_view path, NodeKind kind) const;

 private:
  class Group;

  std::vector<std::unique_ptr<Group>> groups_;  // in the order of the text
};

}  // namespace odyssey::ignore

#endif  // ODYSSEY_AGENTD_IGNORE_IGNORE_FILE_H_
