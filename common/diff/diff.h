#ifndef ODYSSEY_COMMON_DIFF_DIFF_H_
#define ODYSSEY_COMMON_DIFF_DIFF_H_

// Differences of two texts by lines, as `git diff` prints them. Pure; time and memory are bounded
// whatever the texts are: where they differ in too many places, one hunk replaces all of them.

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace odyssey::diff {

struct Line {
  char tag = ' ';         // ' ', '-' or '+'
  std::string_view text;  // with its newline, if it has one; lives as long as the texts
};

// Lines of both texts, counted from 1 (0 where there are none), as in a unified diff.
struct Hunk {
  size_t old_start = 0, old_lines = 0;
  size_t new_start = 0, new_lines = 0;
  std::vector<Line> lines;
};

inline constexpr size_t kContext = 3;  // lines of context around a change

std::vector<Hunk> Compare(std::string_view old_text, std::string_view new_text);

// A NUL in the first 8,000 bytes, which is git's rule.
bool IsBinary(std::string_view text);

// "@@ -1,2 +1,3 @@" and its lines.
std::string Format(const Hunk& hunk);

// The old text with the chosen hunks of a comparison (numbers from 1) in it.
std::string Apply(std::string_view old_text, const std::vector<Hunk>& hunks,
                  const std::set<uint32_t>& chosen);

// What stands above the hunks of one file.
struct File {
  std::string old_path, new_path;       // the same but for a rename; "" = there is none
  uint32_t old_mode = 0, new_mode = 0;  // st_mode
  bool same_content = false;
  bool binary = false;
};
std::string FormatHeader(const File& file);

}  // namespace odyssey::diff

#endif  // ODYSSEY_COMMON_DIFF_DIFF_H_
