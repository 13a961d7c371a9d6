#include "ctl/settings/setting.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace odyssey::ctl {
namespace {

std::vector<std::string> Passed(const std::vector<std::string>& typed) {
  const Result<ParsedOptions> options = ParseOptions(OptionsOfUp("agentd"), {}, typed);
  EXPECT_TRUE(options.ok()) << options.status().message();
  return options.ok() ? ArgumentsOfUp("agentd", *options) : std::vector<std::string>();
}

using Words = std::vector<std::string>;

TEST(SettingTest, WhatWasNotGivenIsLeftToAgentd) { EXPECT_EQ(Passed({}), Words()); }

TEST(SettingTest, PassesEachValueAsAgentdReadsIt) {
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(Passed({"--approval-timeout", "1500ms", "--approval-command", "bin/x", "--idle-cell",
                    "0", "--approval-webhook-fallback", "ask"}),
            (Words{"--idle-cell", "0", "--approval-timeout", "2", "--approval-command",
                   here + "/bin/x", "--approval-webhook-fallback", "ask"}));
  EXPECT_EQ(Passed({"--metrics-listen", "127.0.0.1:9464"}),
            (Words{"--metrics-listen", "127.0.0.1:9464"}));
  EXPECT_EQ(Passed({"--model-base-url", "groq=https://g/", "--model-base-url", "https://o/"}),
            (Words{"--model-base-url", "groq=https://g/", "--model-base-url", "https://o/"}));
}

}  // namespace
}  // namespace odyssey::ctl
