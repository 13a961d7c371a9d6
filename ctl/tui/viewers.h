#ifndef ODYSSEY_CTL_TUI_VIEWERS_H_
#define ODYSSEY_CTL_TUI_VIEWERS_H_

// Lists that a person selects from, out of what agentd answers. Pure; sanitised.

#include <optional>
#include <string>
#include <vector>

#include "ctl/tui/tui_state.h"
#include "odyssey/agent/v1/bundle.pb.h"
#include "odyssey/agent/v1/session.pb.h"

namespace odyssey::ctl {

// "provider/id".
std::string ModelOf(const agent::v1::BundleAgent& agent);

Viewer BundleViewer(const agent::v1::ListBundlesResponse& bundles);
Viewer SessionViewer(const agent::v1::ListSessionsResponse& sessions);
// Of the bundle; nothing: none is described.
Viewer AgentViewer(const std::optional<agent::v1::Bundle>& bundle, const std::string& chosen);
Viewer ModelViewer(const std::optional<agent::v1::Bundle>& bundle);
Viewer SkillViewer(const std::optional<agent::v1::Bundle>& bundle);
Viewer ThemeViewer(const std::vector<std::string>& themes, const std::string& chosen);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_TUI_VIEWERS_H_
