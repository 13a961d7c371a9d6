#ifndef ODYSSEY_CTL_TUI_DASHBOARD_H_
#define ODYSSEY_CTL_TUI_DASHBOARD_H_

#include <vector>

#include "ctl/tui/styled_line.h"
#include "ctl/tui/tui_state.h"

namespace odyssey::ctl {

// Cells with their use and limits, what waits for an answer, sessions, and what was denied in the
// session: at most `height` rows, each part with a share of them. Pure.
std::vector<StyledLine> DashboardRows(const TuiState& state, size_t height);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_TUI_DASHBOARD_H_
