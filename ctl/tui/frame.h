#ifndef ODYSSEY_CTL_TUI_FRAME_H_
#define ODYSSEY_CTL_TUI_FRAME_H_

// A screenful as a value. Pure.

#include <cstddef>
#include <vector>

#include "ctl/tui/styled_line.h"
#include "ctl/tui/tui_state.h"

namespace odyssey::ctl {

struct Frame {
  std::vector<StyledLine> rows;  // as many as the screen has, none wider than it
  size_t cursor_row = 0, cursor_column = 0;
};
Frame Draw(const TuiState& state);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_TUI_FRAME_H_
