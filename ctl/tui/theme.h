#ifndef ODYSSEY_CTL_TUI_THEME_H_
#define ODYSSEY_CTL_TUI_THEME_H_

// Colours of the terminal's own palette, by name. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "ctl/tui/styled_line.h"

namespace odyssey::ctl {

struct TintStyle {
  int color = -1;  // 0 to 7; -1: the terminal's own
  bool bold = false;
  bool dim = false;
  bool reverse = false;
};
struct Theme {
  std::string_view name;
  TintStyle styles[kTints];  // by Tint
};

inline constexpr char kDefaultTheme[] = "odyssey";
std::vector<std::string> ThemeNames();
// The default one of a name that there is not.
const Theme& ThemeOf(std::string_view name);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_TUI_THEME_H_
