#ifndef ODYSSEY_CTL_VIEW_TOOL_TEXT_H_
#define ODYSSEY_CTL_VIEW_TOOL_TEXT_H_

// Tool calls and their results in one line, or exactly. Pure; the result is sanitised.

#include <string>
#include <vector>

namespace odyssey::ctl {

// The part of a call that tells it from others: the argument that rules judge, or the whole
// arguments; one line of at most `width` characters.
std::string SummarizeCall(const std::string& tool, const std::string& arguments_json, size_t width);

// "12 entries", "340 bytes", …; "" if there is nothing to say. For a failure, the error.
std::string SummarizeResult(const std::string& result_json, bool success, size_t width);

// Each argument, exactly, as indented lines "name: value". Arguments of more than `max_lines` lines
// are cut, and the last line says so.
inline constexpr size_t kMaxExactLines = 60;
std::string ExactArguments(const std::string& arguments_json, const std::string& indent,
                           size_t max_lines = kMaxExactLines);

// The same, but of the text that a diff shows only how many lines it has.
std::string BriefArguments(const std::string& tool, const std::string& arguments_json,
                           const std::string& indent, size_t max_lines = kMaxExactLines);
// What shows what is cut.
inline constexpr char kShowsAll[] = "odyssey-ctl -o json approval list shows them all";

// A command line as one would type it.
std::string JoinCommand(const std::vector<std::string>& argv);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_VIEW_TOOL_TEXT_H_
