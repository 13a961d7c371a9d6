#ifndef ODYSSEY_CTL_TUI_OWN_FILES_H_
#define ODYSSEY_CTL_TUI_OWN_FILES_H_

// What the terminal interface keeps in the person's home. A file that is missing or cannot be read
// is as an empty one: neither is worth a failure.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace odyssey::ctl {

struct OwnFiles {
  std::string history;   // ~/.odyssey/tui_history.json
  std::string settings;  // ~/.config/odyssey/tui.json
};
// Of HOME and XDG_CONFIG_HOME; "" where there is no home.
OwnFiles FindOwnFiles();

// The file's text of a history, and back. Pure. Nothing: it is not one.
std::string HistoryText(const std::vector<std::string>& lines);
std::optional<std::vector<std::string>> ParseHistory(std::string_view text);
std::string SettingsText(std::string_view theme);
std::optional<std::string> ParseSettings(std::string_view text);  // the theme

std::vector<std::string> ReadHistory(const OwnFiles& files);
std::string ReadTheme(const OwnFiles& files);  // "": none is set
Status WriteHistory(const OwnFiles& files, const std::vector<std::string>& lines);
Status WriteTheme(const OwnFiles& files, const std::string& theme);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_TUI_OWN_FILES_H_
