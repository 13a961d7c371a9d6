#ifndef ODYSSEY_CTL_VIEW_DIFF_VIEW_H_
#define ODYSSEY_CTL_VIEW_DIFF_VIEW_H_

// Unified diffs on a terminal. Pure. Every byte of them may be an agent's: each line is sanitised,
// so a carriage return in a file is visible.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace odyssey::ctl {

// The whole diff, removed lines red and added ones green.
std::string FormatDiff(std::string_view diff, bool color);

// Its first `max_lines` lines behind `indent`; a last one says how many more there are and, by
// `how`, what shows them.
std::string FoldDiff(std::string_view diff, size_t max_lines, std::string_view indent,
                     const std::string& how, bool color);

// The diff of one file, cut before each hunk.
struct FileDiff {
  std::string header;
  std::vector<std::string> hunks;
};
FileDiff SplitDiff(std::string_view diff);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_VIEW_DIFF_VIEW_H_
