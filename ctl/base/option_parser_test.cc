#include "ctl/base/option_parser.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace odyssey::ctl {
namespace {

std::vector<OptionSpec> Specs() {
  return {
      {.name = "memory", .kind = ValueKind::kSize, .value_name = "SIZE"},
      {.name = "timeout", .kind = ValueKind::kDuration, .value_name = "TIME"},
      {.name = "cpus", .kind = ValueKind::kCpus, .value_name = "N"},
      {.name = "pids", .kind = ValueKind::kNumber, .value_name = "N", .min = 1, .max = 100},
      {.name = "network",
       .kind = ValueKind::kChoice,
       .value_name = "WHICH",
       .choices = {"none", "full"}},
      {.name = "output", .letter = 'o', .kind = ValueKind::kText, .value_name = "FORMAT"},
      {.name = "env", .kind = ValueKind::kEnv, .value_name = "NAME[=VALUE]", .repeatable = true},
      {.name = "tty"}};
}

std::string ErrorOf(const std::vector<std::string>& arguments) {
  const Result<ParsedOptions> parsed =
      ParseOptions(Specs(), {{.name = "WORD", .required = false}}, arguments);
  EXPECT_EQ(parsed.status().code(), Code::kInvalidArgument);
  return parsed.status().message();
}

TEST(OptionParserTest, ReadsEveryKindOfValue) {
  const Result<ParsedOptions> parsed =
      ParseOptions(Specs(), {{.name = "WORD"}},
                   {"--memory", "512m", "--timeout=500ms", "word", "--cpus", "1.5", "--pids", "7",
                    "--network", "full", "-ojson", "--env", "A", "--env=B=c=d", "--tty"});
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_EQ(parsed->Size("memory"), 512u << 20);
  EXPECT_EQ(parsed->DurationMs("timeout"), 500u);
  EXPECT_EQ(parsed->CpuMillis("cpus"), 1500u);
  EXPECT_EQ(parsed->Number("pids"), 7u);
  EXPECT_EQ(parsed->Text("network"), "full");
  EXPECT_EQ(parsed->Text("output"), "json");
  EXPECT_EQ(parsed->All("env"), (std::vector<std::string>{"A", "B=c=d"}));
  EXPECT_TRUE(parsed->Has("tty"));
  EXPECT_EQ(parsed->words(), std::vector<std::string>{"word"});
}

TEST(OptionParserTest, WhatIsNotGivenIsZeroOrEmpty) {
  const Result<ParsedOptions> parsed = ParseOptions(Specs(), {}, {});
  ASSERT_TRUE(parsed.ok());
  EXPECT_FALSE(parsed->Has("tty"));
  EXPECT_EQ(parsed->Size("memory"), 0u);
  EXPECT_EQ(parsed->Text("network"), "");
  EXPECT_EQ(parsed->Word(0), "");
}

TEST(OptionParserTest, ErrorsNameOptionValueAndWhatIsAllowed) {
  EXPECT_EQ(ErrorOf({"--bogus"}), "unknown option --bogus");
  EXPECT_EQ(ErrorOf({"-x"}), "unknown option -x");
  EXPECT_EQ(ErrorOf({"--memory"}), "--memory needs a value: SIZE");
  EXPECT_EQ(ErrorOf({"--memory", "much"}),
            "--memory \"much\": expected a size of at least 1, such as 65536, 64k, 512m, 2g");
  EXPECT_EQ(ErrorOf({"--pids", "101"}), "--pids \"101\": expected a number from 1 to 100");
  EXPECT_EQ(ErrorOf({"--network", "some"}), "--network \"some\": expected none or full");
  EXPECT_EQ(ErrorOf({"--env", "1A=x"}),
            "--env \"1A=x\": expected NAME or NAME=VALUE, with NAME of letters, digits and _");
  EXPECT_EQ(ErrorOf({"--tty=yes"}), "--tty takes no value, got \"yes\"");
  EXPECT_EQ(ErrorOf({"-o", ""}), "--output \"\": expected a value that is not empty");
  EXPECT_EQ(ErrorOf({"--cpus", "1", "--cpus", "2"}), "--cpus \"2\": given twice, allowed once");
  EXPECT_EQ(ErrorOf({"one", "two"}), "unexpected argument \"two\"");
}

TEST(OptionParserTest, ErrorsShowControlCharacters) {
  EXPECT_EQ(ErrorOf({"--\x1b[2J"}), "unknown option --\\e[2J");
}

TEST(OptionParserTest, MissingWordIsNamed) {
  const Result<ParsedOptions> parsed = ParseOptions(Specs(), {{.name = "BUNDLE"}}, {"--tty"});
  EXPECT_EQ(parsed.status().message(), "BUNDLE is missing");
}

TEST(OptionParserTest, CommandLineKeepsItsOwnOptions) {
  const std::vector<PositionalSpec> rest = {{.name = "CMD", .rest = true}};
  const Result<ParsedOptions> bare =
      ParseOptions(Specs(), rest, {"--tty", "ls", "--tty", "--", "-l"});
  ASSERT_TRUE(bare.ok());
  EXPECT_EQ(bare->words(), (std::vector<std::string>{"ls", "--tty", "--", "-l"}));

  const Result<ParsedOptions> dashes = ParseOptions(Specs(), rest, {"--tty", "--", "--odd", ""});
  ASSERT_TRUE(dashes.ok());
  EXPECT_EQ(dashes->words(), (std::vector<std::string>{"--odd", ""}));
}

TEST(OptionParserTest, RestBeginsAfterTheNamedWords) {
  const std::vector<PositionalSpec> words = {{.name = "ID"}, {.name = "CMD", .rest = true}};
  const Result<ParsedOptions> parsed =
      ParseOptions(Specs(), words, {"ses_1", "--tty", "--", "ls", "-l"});
  ASSERT_TRUE(parsed.ok());
  EXPECT_TRUE(parsed->Has("tty"));
  EXPECT_EQ(parsed->words(), (std::vector<std::string>{"ses_1", "ls", "-l"}));
}

TEST(OptionParserTest, OptionsMayStandAmongManyWords) {
  const std::vector<PositionalSpec> words = {{.name = "CELL"},
                                             {.name = "PATH", .required = false, .many = true}};
  const Result<ParsedOptions> parsed =
      ParseOptions(Specs(), words, {"c", "a", "--pids", "7", "b", "--", "-x"});
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_EQ(parsed->words(), (std::vector<std::string>{"c", "a", "b", "-x"}));
  EXPECT_EQ(parsed->Number("pids"), 7u);
  EXPECT_TRUE(ParseOptions(Specs(), words, {"c"}).ok());
  EXPECT_EQ(ParseOptions(Specs(), words, {}).status().message(), "CELL is missing");
}

TEST(OptionParserTest, LeadingOptionsEndAtTheFirstWord) {
  size_t used = 0;
  const Result<ParsedOptions> parsed =
      ParseLeadingOptions(Specs(), {"-o", "json", "exec", "--tty"}, &used);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(used, 2u);
  EXPECT_FALSE(parsed->Has("tty"));
}

}  // namespace
}  // namespace odyssey::ctl
