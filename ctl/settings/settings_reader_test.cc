#include "ctl/settings/settings_reader.h"

#include <gtest/gtest.h>

namespace odyssey::ctl {
namespace {

using Words = std::vector<std::string>;
using Files = dialect::OperatorFiles;

const DaemonSettings& Agentd() { return **FindDaemon("agentd"); }

std::vector<SettingValue> Parse(const Files& files, Words* problems = nullptr) {
  dialect::Problems found;
  std::vector<SettingValue> out = ParseSettings(Agentd(), files, &found);
  for (const dialect::Problem& problem : found) {
    if (problems == nullptr) ADD_FAILURE() << dialect::ToString(problem);
    if (problems != nullptr) problems->push_back(dialect::ToString(problem));
  }
  return out;
}

Words Arguments(const Files& files) {
  dialect::Problems problems;
  Words out = ToArguments(Parse(files), &problems);
  EXPECT_TRUE(problems.empty());
  return out;
}

Words ProblemsOf(const std::string& text) {
  Words out;
  Parse({{"a.yaml", text}}, &out);
  return out;
}

TEST(SettingsReaderTest, AFileIsTheDaemonsCommandLine) {
  EXPECT_EQ(Arguments({{"a.yaml",
                        "workers: 8\n"
                        "idle_cell: 1h\n"
                        "journal_max_bytes: 1m\n"
                        "journal_keep: 2d\n"
                        "drain: 0\n"
                        "allow_users: [root, 7]\n"
                        "model_base_urls: {openai: https://a.example/v1}\n"}}),
            (Words{"--allow-uid", "0", "--allow-uid", "7", "--workers", "8", "--idle-cell", "3600",
                   "--drain", "0", "--journal-max-bytes", "1048576", "--journal-keep", "172800",
                   "--model-base-url", "openai=https://a.example/v1"}));
  EXPECT_EQ(Arguments({{"a.yaml", "# nothing\n"}}), Words());
}

TEST(SettingsReaderTest, ALaterFileReplacesAValueAndAddsToAList) {
  const Files files = {
      {"a.yaml", "workers: 8\nallow_users: [1]\nmodel_key_files: {openai: /a, groq: /b}\n"},
      {"b.yaml", "workers: 9\nallow_users: [2]\nmodel_key_files: {openai: /c}\n"}};
  EXPECT_EQ(Arguments(files),
            (Words{"--allow-uid", "1", "--allow-uid", "2", "--workers", "9", "--model-key-file",
                   "groq=/b", "--model-key-file", "openai=/c"}));
  Files emptied = files;
  emptied.push_back({"c.yaml", "allow_users: []\nmodel_key_files: {}\n"});
  EXPECT_EQ(Arguments(emptied), (Words{"--workers", "9"}));
}

TEST(SettingsReaderTest, AProblemHasItsFileLineAndKey) {
  EXPECT_EQ(ProblemsOf("workers: 0\n"),
            Words{"a.yaml:1: workers: \"0\": expected a number from 1 to 256"});
  EXPECT_EQ(ProblemsOf("\nworker: 1\n").size(), 1u);
  EXPECT_NE(ProblemsOf("\nworker: 1\n")[0].find("a.yaml:2: worker: unknown"), std::string::npos);
  EXPECT_EQ(ProblemsOf("socket: agentd.sock\n"),
            Words{"a.yaml:1: socket: \"agentd.sock\": expected an absolute path"});
  EXPECT_EQ(ProblemsOf("allow_users: alice\n"),
            Words{"a.yaml:1: allow_users: expected a list, found a string (`alice`)"});
  EXPECT_EQ(ProblemsOf("workers: [1]\n"),
            Words{"a.yaml:1: workers: expected a value, found a list"});
  EXPECT_EQ(ProblemsOf("drain: 2000h\n").size(), 1u);
  EXPECT_EQ(ProblemsOf("drain: 25h\n"), Words{"a.yaml:1: drain: \"25h\": expected at most 86400s"});
  EXPECT_EQ(ProblemsOf("journal_max_bytes: 1k\n"),
            Words{"a.yaml:1: journal_max_bytes: \"1k\": expected 0, or at least 64 KiB"});
  EXPECT_EQ(ProblemsOf("approval_webhook_fallback: maybe\napproval_webhook: https://a\n"),
            Words{"a.yaml:1: approval_webhook_fallback: \"maybe\": expected deny or ask"});
  EXPECT_EQ(ProblemsOf("workers: 1\nworkers: 2\n").size(), 1u);
  EXPECT_EQ(ProblemsOf("admin_group: \"a\\0b\"\n"),
            Words{"a.yaml:1: admin_group: holds a NUL byte"});
  EXPECT_EQ(ProblemsOf("model_key_files: {\"a=b\": /k}\n"),
            Words{"a.yaml:1: model_key_files.a=b: a name holds no \"=\""});
}

TEST(SettingsReaderTest, WhatWouldDoNothingIsAProblem) {
  EXPECT_EQ(ProblemsOf("approval_webhook_ca: /ca.pem\n"),
            Words{"a.yaml:1: approval_webhook_ca: needs approval_webhook"});
}

TEST(SettingsReaderTest, AUserThatDoesNotExistIsAProblem) {
  dialect::Problems problems;
  ToArguments(Parse({{"a.yaml", "\nallow_users: [no-such-user]\n"}}), &problems);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].line, 2);
}

TEST(SettingsReaderTest, DefaultsFillWhatIsNotGiven) {
  const std::vector<SettingValue> values =
      WithDefaults(Agentd(), Parse({{"a.yaml", "workers: 8\n"}}));
  const auto value_of = [&](std::string_view key) {
    for (const SettingValue& value : values) {
      if (value.setting->key == key) return value.value + "@" + value.file;
    }
    return std::string();
  };
  EXPECT_EQ(value_of("workers"), "8@a.yaml");
  EXPECT_EQ(value_of("queue"), "128@");
  EXPECT_EQ(value_of("admin_group"), "");
}

}  // namespace
}  // namespace odyssey::ctl
