#ifndef ODYSSEY_CTL_BASE_SANITIZE_H_
#define ODYSSEY_CTL_BASE_SANITIZE_H_

// Text of agents, models and commands, made safe to show on a terminal. Pure.
//
// A terminal acts on what it is sent: ESC sequences set its title, its clipboard (OSC 52) and what
// it answers; CR and backspace overwrite what a person just read; bidirectional controls reorder
// it. So nothing of that passes: each such character becomes a visible escape of itself.

#include <string>
#include <string_view>

namespace odyssey::ctl {

enum class Lines {
  kMany,  // newline and tab stay; "\r\n" is a newline
  kOne,   // they become visible escapes too
};

// Control characters (C0, DEL, C1) and bytes that are not UTF-8 become \r, \t, \n, \e or \xNN;
// characters of hidden_ranges.h (format, unassigned, private use, separators of lines, variation
// selectors, tags) \u{NNNN}. Everything else is unchanged,
// so a backslash in the text stays one backslash: the result is for people, not for decoding.
std::string Sanitize(std::string_view text, Lines lines = Lines::kMany);

// The first `max` characters (not bytes) of sanitised text, with "…" in place of what was cut.
std::string Shorten(std::string_view text, size_t max);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_BASE_SANITIZE_H_
