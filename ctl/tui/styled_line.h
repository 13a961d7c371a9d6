#ifndef ODYSSEY_CTL_TUI_STYLED_LINE_H_
#define ODYSSEY_CTL_TUI_STYLED_LINE_H_

// Text in columns of a terminal. Pure, but that widths are those of LC_CTYPE, which
// UseUtf8Characters sets.
//
// What comes here was sanitised (ctl/base/sanitize.h). Two kinds of characters that are text would
// still break a screen that is drawn by columns: marks that are stacked on one character without
// end, and characters that fonts draw wider than their columns. They become visible escapes here.
// A control character cannot pass at all: it becomes U+FFFD.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace odyssey::ctl {

// What a theme gives a colour to.
enum class Tint { kPlain, kDim, kBold, kGood, kBad, kWarn, kUser, kTitle, kBar, kSelected };
inline constexpr size_t kTints = 10;

struct Span {
  std::string text;
  Tint tint = Tint::kPlain;
  friend bool operator==(const Span&, const Span&) = default;
};
using StyledLine = std::vector<Span>;

// Of the process: the characters of C.UTF-8, whatever the language.
void UseUtf8Characters();

// A line of sanitised text in which Paint has set styles.
StyledLine ParsePainted(std::string_view painted);

std::string PlainText(const StyledLine& line);
// As it is shown: with escapes in place of what is not.
size_t WidthOf(std::string_view text);

// In rows of at most `columns`; at least one. Breaks after a space, if one is in the second half.
std::vector<StyledLine> Wrap(const StyledLine& line, size_t columns);
// One row of at most `columns`; a last "…" says that it is cut.
StyledLine Fit(const StyledLine& line, size_t columns);
// The end of `text`.
std::string LastColumns(std::string_view text, size_t columns);
// As Fit, filled up with spaces of the last span's tint.
StyledLine Fill(const StyledLine& line, size_t columns);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_TUI_STYLED_LINE_H_
