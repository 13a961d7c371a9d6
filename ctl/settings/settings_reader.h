#ifndef ODYSSEY_CTL_SETTINGS_SETTINGS_READER_H_
#define ODYSSEY_CTL_SETTINGS_SETTINGS_READER_H_

// Reads DIR/NAME.yaml and DIR/NAME.d/*.yaml, in that order, as a daemon's settings.

#include <string>
#include <vector>

#include "common/base/status.h"
#include "ctl/settings/setting.h"
#include "policy/dialect/operator_files.h"
#include "policy/dialect/problem.h"

namespace odyssey::ctl {

inline constexpr char kSettingsDirectory[] = "/etc/odyssey";

// One value in force. `setting` is borrowed from AllSettings.
struct SettingValue {
  const Setting* setting = nullptr;
  std::string value;  // as written; of a map NAME=VALUE
  std::string file;   // "": the default
  int line = 0;
};

// The files of a daemon that exist. Errors of operator_files.h.
Result<dialect::OperatorFiles> FindSettingsFiles(const DaemonSettings& daemon,
                                                 const std::string& directory);

// The values of the files, each checked, in the order of the table. Problems are added.
std::vector<SettingValue> ParseSettings(const DaemonSettings& daemon,
                                        const dialect::OperatorFiles& files,
                                        dialect::Problems* problems);

// With the defaults of keys that have no value.
std::vector<SettingValue> WithDefaults(const DaemonSettings& daemon,
                                       std::vector<SettingValue> values);

// As the daemon's command line. Looks users up; one that does not exist is a problem.
std::vector<std::string> ToArguments(const std::vector<SettingValue>& values,
                                     dialect::Problems* problems);

// The arguments of the files in a state directory of `up`, which decides the rest. INVALID_ARGUMENT
// names the first problem's file and line.
Result<std::vector<std::string>> ArgumentsOfState(std::string_view daemon,
                                                  const std::string& state);

// FindSettingsFiles and ParseSettings. INVALID_ARGUMENT names the first problem's file and line.
Result<std::vector<SettingValue>> ReadSettings(const DaemonSettings& daemon,
                                               const std::string& directory);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_SETTINGS_SETTINGS_READER_H_
