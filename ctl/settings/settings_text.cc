#include "ctl/settings/settings_text.h"

#include <nlohmann/json.hpp>

namespace odyssey::ctl {
namespace {

// JSON's strings are YAML's; a plain word needs no quotes.
std::string Scalar(const std::string& value) {
  constexpr char kPlain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-";
  const bool plain = !value.empty() && value.find_first_not_of(kPlain) == std::string::npos &&
                     value.front() != '-' && value.front() != '.';
  return plain ? value : nlohmann::json(value).dump();
}

std::string PlaceText(const SettingValue& value) {
  return value.file.empty() ? "default" : value.file + ":" + std::to_string(value.line);
}

std::string Lines(const SettingValue& value, bool first) {
  const Setting& setting = *value.setting;
  const std::string key = std::string(setting.key) + ":";
  const std::string place = "  # " + PlaceText(value) + "\n";
  if (setting.shape == Shape::kOne) return key + " " + Scalar(value.value) + place;
  const std::string head = first ? key + "\n" : "";
  if (setting.shape == Shape::kList) return head + "  - " + Scalar(value.value) + place;
  const size_t equals = value.value.find('=');
  return head + "  " + Scalar(value.value.substr(0, equals)) + ": " +
         Scalar(value.value.substr(equals + 1)) + place;
}

}  // namespace

std::string ExampleLine(const Setting& setting) {
  const std::string key = std::string(setting.key) + ": ";
  std::string value(setting.fallback.empty() ? setting.option.value_name : setting.fallback);
  switch (setting.shape) {
    case Shape::kOne:
      return key + value;
    case Shape::kList:
      return key + "[" + value + "]";
    case Shape::kMap: {
      // "[PROVIDER=]FILE", "NAME=N"
      std::erase_if(value, [](char c) { return c == '[' || c == ']'; });
      const size_t equals = value.find('=');
      return key + "{" + value.substr(0, equals) + ": " + value.substr(equals + 1) + "}";
    }
  }
  return key;
}

std::string DefaultFile(const DaemonSettings& daemon) {
  const std::string name(daemon.name);
  std::string out = "# Settings of " + std::string(daemon.program) + ", described in " +
                    std::string(daemon.program) + ".yaml(5). What is commented out is the default" +
                    ".\n# Files " + name + ".d/*.yaml are read after this one. After a change: " +
                    "odyssey-ctl config check,\n# then systemctl restart odyssey-" + name + ".\n";
  for (const Setting& setting : daemon.settings) {
    out += "\n# " + std::string(setting.option.help) + "\n#" + ExampleLine(setting) + "\n";
  }
  return out;
}

std::string EffectiveFile(const std::vector<SettingValue>& values) {
  std::string out;
  const Setting* last = nullptr;
  for (const SettingValue& value : values) {
    out += Lines(value, value.setting != last);
    last = value.setting;
  }
  return out;
}

}  // namespace odyssey::ctl
