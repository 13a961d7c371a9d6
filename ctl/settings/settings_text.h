#ifndef ODYSSEY_CTL_SETTINGS_SETTINGS_TEXT_H_
#define ODYSSEY_CTL_SETTINGS_SETTINGS_TEXT_H_

// Settings as text: the file that a package installs, and what is in force. Pure.

#include <string>
#include <vector>

#include "ctl/settings/settings_reader.h"

namespace odyssey::ctl {

// The file of a new installation: every key with its default, commented out.
std::string DefaultFile(const DaemonSettings& daemon);

// "workers: 4", "limits: {NAME: N}": a key with its default, or with the name of a value.
std::string ExampleLine(const Setting& setting);

// As YAML of the files' form, with the place of each value in a comment. `values` are in the order
// of the table.
std::string EffectiveFile(const std::vector<SettingValue>& values);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_SETTINGS_SETTINGS_TEXT_H_
