#ifndef ODYSSEY_CTL_SETTINGS_SETTING_H_
#define ODYSSEY_CTL_SETTINGS_SETTING_H_

// The settings of the daemons: the one table that /etc/odyssey/*.yaml, options of `up`, the default
// files and their manual pages are made of. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "ctl/base/option_parser.h"

namespace odyssey::ctl {

// How the file writes the values of one key.
enum class Shape {
  kOne,
  kList,  // that of a later file is added; an empty one removes those of earlier files
  kMap,   // NAME: VALUE, for the daemon NAME=VALUE; a later file replaces by name
};

struct Setting {
  std::string_view key;  // in the file
  OptionSpec option;     // of the daemon, and of `up` where `of_up`
  Shape shape = Shape::kOne;
  bool is_user = false;       // a user's name or uid; the daemon takes the uid
  bool of_up = false;         // `odyssey-ctl up` has the option too
  bool of_services = false;   // `up` decides it by its state directory
  bool of_rpc = false;        // of odyssey-supervisor-rpc, which the supervisor passes it on to
  bool reloaded = false;      // SIGHUP applies it
  std::string_view fallback;  // in force for the services where no file has the key; "": none
  std::string_view needs;     // a key without which this one would do nothing
};

struct DaemonSettings {
  std::string_view name;  // "agentd": agentd.yaml, agentd.d
  std::string_view program;
  std::vector<Setting> settings;
};

// supervisor, egress, agentd, http.
const std::vector<DaemonSettings>& AllSettings();
// NOT_FOUND names what there is.
Result<const DaemonSettings*> FindDaemon(std::string_view name);

// The options of one daemon that `up` has.
std::vector<OptionSpec> OptionsOfUp(std::string_view daemon);
// Those that were given to `up`, as the daemon reads them.
std::vector<std::string> ArgumentsOfUp(std::string_view daemon, const ParsedOptions& options);
// The options of odyssey-supervisor-rpc last, after "--". Of other daemons unchanged.
std::vector<std::string> WithRpcLast(std::string_view daemon,
                                     const std::vector<std::string>& arguments);

// A value of an option or a file that was checked, in the daemon's unit: seconds and bytes.
std::string ToArgument(const OptionSpec& option, const std::string& value);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_SETTINGS_SETTING_H_
