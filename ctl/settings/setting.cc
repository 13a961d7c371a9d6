#include "ctl/settings/setting.h"

#include <filesystem>
#include <set>
#include <system_error>

#include "ctl/base/units.h"

namespace odyssey::ctl {
namespace {

constexpr uint32_t kMsPerSecond = 1000;

std::string Absolute(const std::string& path) {
  std::error_code error;
  std::string out = std::filesystem::absolute(path, error).string();
  return error ? path : out;
}

const DaemonSettings& Of(std::string_view daemon) {
  const Result<const DaemonSettings*> found = FindDaemon(daemon);
  ODY_CHECK(found.ok());
  return **found;
}

}  // namespace

Result<const DaemonSettings*> FindDaemon(std::string_view name) {
  std::string known;
  for (const DaemonSettings& daemon : AllSettings()) {
    if (daemon.name == name) return &daemon;
    known += (known.empty() ? "" : ", ") + std::string(daemon.name);
  }
  return NotFound("daemon \"" + std::string(name) + "\": expected one of " + known);
}

std::vector<OptionSpec> OptionsOfUp(std::string_view daemon) {
  std::vector<OptionSpec> out;
  for (const Setting& setting : Of(daemon).settings) {
    if (setting.of_up) out.push_back(setting.option);
  }
  return out;
}

std::vector<std::string> ArgumentsOfUp(std::string_view daemon, const ParsedOptions& options) {
  std::vector<std::string> out;
  for (const OptionSpec& option : OptionsOfUp(daemon)) {
    for (const std::string& typed : options.All(option.name)) {
      out.push_back("--" + std::string(option.name));
      out.push_back(ToArgument(option, typed));
    }
  }
  return out;
}

std::vector<std::string> WithRpcLast(std::string_view daemon,
                                     const std::vector<std::string>& arguments) {
  std::set<std::string> of_rpc = {"--notify", "--watchdog-usec"};  // of odyssey-start alone
  if (daemon != "supervisor") return arguments;
  for (const Setting& setting : Of(daemon).settings) {
    if (setting.of_rpc) of_rpc.insert("--" + std::string(setting.option.name));
  }
  std::vector<std::string> out, last;
  for (size_t i = 0; i < arguments.size(); i += 2) {
    if (i + 1 == arguments.size()) {
      out.push_back(arguments[i]);  // without a value, which the daemon reports
      break;
    }
    std::vector<std::string>& to = of_rpc.count(arguments[i]) != 0 ? last : out;
    to.insert(to.end(), {arguments[i], arguments[i + 1]});
  }
  if (!last.empty()) out.emplace_back("--");
  out.insert(out.end(), last.begin(), last.end());
  return out;
}

std::string ToArgument(const OptionSpec& option, const std::string& value) {
  if (option.zero && value == "0") return value;
  switch (option.kind) {
    case ValueKind::kDuration:
      return std::to_string((*ParseDurationMs(value) + uint64_t{kMsPerSecond - 1}) / kMsPerSecond);
    case ValueKind::kAge:
      return std::to_string(*ParseAgeS(value));
    case ValueKind::kSize:
      return std::to_string(*ParseSize(value));
    case ValueKind::kFile:
    case ValueKind::kDirectory:
      return Absolute(value);
    default:
      return value;
  }
}

}  // namespace odyssey::ctl
