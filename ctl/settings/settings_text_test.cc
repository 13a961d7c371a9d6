#include "ctl/settings/settings_text.h"

#include <gtest/gtest.h>

namespace odyssey::ctl {
namespace {

// The lines of the default file that show a key, without their '#'.
std::string Uncommented(const DaemonSettings& daemon) {
  const std::string text = DefaultFile(daemon);
  std::string out;
  for (const Setting& setting : daemon.settings) {
    const std::string line = ExampleLine(setting);
    EXPECT_NE(text.find("\n#" + line + "\n"), std::string::npos) << line;
    if (!setting.fallback.empty()) out += line + "\n";
  }
  return out;
}

TEST(SettingsTextTest, TheDefaultFileSaysTheDefaults) {
  for (const DaemonSettings& daemon : AllSettings()) {
    dialect::Problems problems;
    const std::vector<SettingValue> read =
        ParseSettings(daemon, {{"a.yaml", Uncommented(daemon)}}, &problems);
    EXPECT_TRUE(problems.empty()) << dialect::ToString(problems.front());
    EXPECT_EQ(ToArguments(read, &problems), ToArguments(WithDefaults(daemon, {}), &problems));
    EXPECT_EQ(ParseSettings(daemon, {{"a.yaml", DefaultFile(daemon)}}, &problems).size(), 0u);
  }
}

TEST(SettingsTextTest, WhatIsInForceCanBeReadAgain) {
  const DaemonSettings& agentd = **FindDaemon("agentd");
  dialect::Problems problems;
  const std::vector<SettingValue> values =
      ParseSettings(agentd,
                    {{"/etc/a.yaml",
                      "workers: 8\nallow_users: [1, 2]\n"
                      "model_base_urls: {openai: 'https://a.example/#x'}\n"}},
                    &problems);
  EXPECT_EQ(EffectiveFile(values),
            "allow_users:\n"
            "  - 1  # /etc/a.yaml:2\n"
            "  - 2  # /etc/a.yaml:2\n"
            "workers: 8  # /etc/a.yaml:1\n"
            "model_base_urls:\n"
            "  openai: \"https://a.example/#x\"  # /etc/a.yaml:3\n");
  const std::vector<SettingValue> again =
      ParseSettings(agentd, {{"b.yaml", EffectiveFile(values)}}, &problems);
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(ToArguments(again, &problems), ToArguments(values, &problems));
}

}  // namespace
}  // namespace odyssey::ctl
