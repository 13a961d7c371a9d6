#include "ctl/tui/own_files.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "common/os/file.h"
#include "ctl/base/console.h"
#include "ctl/file/named_place.h"

namespace odyssey::ctl {
namespace {

constexpr size_t kMaxBytes = 4 * 1024 * 1024;
constexpr mode_t kMode = 0600, kDirectoryMode = 0700;
constexpr int kIndented = 1;

std::string Variable(const char* name) {
  const char* const value = getenv(name);
  return value == nullptr || *value != '/' ? "" : value;
}

std::string Read(const std::string& path) {
  if (path.empty()) return "";
  const Result<NamedPlace> place = OpenNamedPlace(path, Links::kFileItself);
  if (!place.ok()) return "";
  const Result<UniqueFd> fd = place->OpenFile();
  if (!fd.ok()) return "";
  const Result<std::string> text = ReadToTheEnd(fd->get(), path, kMaxBytes);
  return text.ok() ? *text : "";
}

Status Write(const std::string& path, const std::string& text) {
  if (path.empty()) return OkStatus();
  // The two last directories; the home is there.
  const std::string directory = path.substr(0, path.rfind('/'));
  for (const std::string& each : {directory.substr(0, directory.rfind('/')), directory}) {
    if (mkdir(each.c_str(), kDirectoryMode) != 0 && errno != EEXIST) {
      return ErrnoStatus(errno, "create " + each);
    }
  }
  return ReplaceNamedFile(path, text, kMode);
}

Json Parse(std::string_view text) { return Json::parse(text, nullptr, /*allow_exceptions=*/false); }

std::string Dump(const Json& json) {
  return json.dump(kIndented, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

OwnFiles FindOwnFiles() {
  const std::string home = Variable("HOME");
  const std::string config = Variable("XDG_CONFIG_HOME");
  OwnFiles out;
  if (!home.empty()) out.history = home + "/.odyssey/tui_history.json";
  if (!config.empty()) {
    out.settings = config + "/odyssey/tui.json";
  } else if (!home.empty()) {
    out.settings = home + "/.config/odyssey/tui.json";
  }
  return out;
}

std::string HistoryText(const std::vector<std::string>& lines) {
  Json json = Json::array();
  for (const std::string& line : lines) json.push_back(line);
  return Dump(json);
}

std::optional<std::vector<std::string>> ParseHistory(std::string_view text) {
  const Json json = Parse(text);
  if (!json.is_array()) return std::nullopt;
  std::vector<std::string> out;
  for (const Json& line : json) {
    if (line.is_string()) out.push_back(line.get<std::string>());
  }
  return out;
}

std::string SettingsText(std::string_view theme) { return Dump({{"theme", std::string(theme)}}); }

std::optional<std::string> ParseSettings(std::string_view text) {
  const Json json = Parse(text);
  if (!json.is_object() || !json.contains("theme") || !json["theme"].is_string()) {
    return std::nullopt;
  }
  return json["theme"].get<std::string>();
}

std::vector<std::string> ReadHistory(const OwnFiles& files) {
  return ParseHistory(Read(files.history)).value_or(std::vector<std::string>());
}

std::string ReadTheme(const OwnFiles& files) {
  return ParseSettings(Read(files.settings)).value_or("");
}

Status WriteHistory(const OwnFiles& files, const std::vector<std::string>& lines) {
  return Write(files.history, HistoryText(lines));
}

Status WriteTheme(const OwnFiles& files, const std::string& theme) {
  return Write(files.settings, SettingsText(theme));
}

}  // namespace odyssey::ctl
