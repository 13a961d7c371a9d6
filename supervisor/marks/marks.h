#ifndef ODYSSEY_SUPERVISOR_MARKS_MARKS_H_
#define ODYSSEY_SUPERVISOR_MARKS_MARKS_H_

// Changes that programs on the host would run or obey later, without anybody reading them first.
// One table of names, and what a name alone cannot tell: kinds, links, contents. A change that is
// marked is committed only when a person names it. Pure.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace odyssey::marks {

// A row of the table. `pattern` matches at any depth and in any case, with everything below it; `*`
// stands for any characters of one component.
struct Row {
  std::string_view pattern;
  std::string_view reason;    // for people: "direnv runs it"
  std::string_view instance;  // a path that it marks; "" = the pattern itself is one
};
std::span<const Row> Table();

struct Seen {
  std::string_view path;  // relative to the reviewed directory
  uint32_t mode = 0;      // st_mode of what the cell has there; 0: it deletes the path
  std::string_view link_target;
};

// The reason, or "" if it is not marked.
std::string MarkOf(const Seen& seen);

// Whether MarkByContent has something to say of this path.
bool WantsContent(std::string_view path);
// Of a regular file; `old_content` is "" for a new one.
std::string MarkByContent(std::string_view path, std::string_view old_content,
                          std::string_view new_content);

// Of a path in a repository without a working tree, or whose directory is not called .git: `below`
// is relative to that directory.
std::string MarkInRepository(std::string_view below);

// A directory that has all of these is a repository to git, whatever its name is.
inline constexpr std::string_view kRepositoryParts[] = {"HEAD", "objects", "refs"};

}  // namespace odyssey::marks

#endif  // ODYSSEY_SUPERVISOR_MARKS_MARKS_H_
