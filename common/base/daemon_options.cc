#include "common/base/daemon_options.h"

#include <charconv>

namespace odyssey {
namespace {

constexpr uint64_t kFirstInherited = 3, kMostInherited = 1023;

}  // namespace

Result<AskedOfDaemon> ReadDaemonOptions(
    const std::vector<std::string>& arguments,
    const std::function<bool(const std::string& option)>& is_option,
    const std::function<Status(const std::string& option, const std::string& value)>& set) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string option = arguments[i];
    if (option == "--help") return AskedOfDaemon::kHelp;
    if (option == "--version") return AskedOfDaemon::kVersion;
    const size_t equals = option.find('=');
    const bool is_inline = equals != std::string::npos;
    std::string value = is_inline ? option.substr(equals + 1) : "";
    option = option.substr(0, equals);
    if (!is_option(option)) {
      return InvalidArgument("unknown option " + option + "; --help lists them");
    }
    if (!is_inline && ++i == arguments.size()) return InvalidArgument(option + ": needs a value");
    if (!is_inline) value = arguments[i];
    ODY_RETURN_IF_ERROR(set(option, value));
  }
  return AskedOfDaemon::kRun;
}

Result<uint64_t> ParseNumber(const std::string& option, const std::string& text, uint64_t low,
                             uint64_t high) {
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < low || value > high) {
    return InvalidArgument(option + " \"" + text + "\": must be a number from " +
                           std::to_string(low) + " to " + std::to_string(high));
  }
  return value;
}

Result<int> ParseInheritedFd(const std::string& option, const std::string& text) {
  ODY_ASSIGN_OR_RETURN(const uint64_t fd,
                       ParseNumber(option, text, kFirstInherited, kMostInherited));
  return static_cast<int>(fd);
}

Status SetPath(const std::string& option, const std::string& value, std::string* out) {
  if (value.empty() || value.front() != '/') {
    return InvalidArgument(option + " \"" + value + "\": must be an absolute path");
  }
  *out = value;
  return OkStatus();
}

}  // namespace odyssey
