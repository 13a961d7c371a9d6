#include "ctl/tui/slash_command.h"

#include <gtest/gtest.h>

namespace odyssey::ctl {
namespace {

constexpr char kUuid[] = "01234567-89ab-CDEF-0123-456789abcdef";
constexpr char kId[] = "ses_0123456789abcdef0123456789abcdef";
constexpr char kBundleUsage[] = "usage: /bundle install [path] | /bundle use <bundle_ref>";
constexpr char kSessionUsage[] = "usage: /session <id>|new|join <id>";

struct Accepted {
  std::string line;
  Verb verb;
  std::string argument;
};

std::string Upper(std::string text) {
  for (char& c : text) c = static_cast<char>(toupper(c));
  return text;
}

// The words of the command, not its argument.
std::string WithUpperWords(const Accepted& each) {
  const size_t words = each.line.size() - (each.argument == "." ? 0 : each.argument.size());
  return Upper(each.line.substr(0, words)) + each.line.substr(words);
}

TEST(SlashCommandTest, EveryFormIsReadWithAnySpaceAndCase) {
  const Accepted accepted[] = {
      {"/new", Verb::kNew, ""},
      {"/session new", Verb::kNew, ""},
      {"/bundle install", Verb::kBundleInstall, "."},
      {"/bundle install my dir", Verb::kBundleInstall, "my dir"},
      {"/bundle use a/B@1.0", Verb::kBundleUse, "a/B@1.0"},
      {"/bundle a/B@1.0", Verb::kBundleUse, "a/B@1.0"},
      {"/bundles", Verb::kBundles, ""},
      {"/agents", Verb::kAgents, ""},
      {"/agent", Verb::kAgents, ""},
      {"/agent list", Verb::kAgents, ""},
      {"/agent Coder", Verb::kAgent, "Coder"},
      {"/sessions", Verb::kSessions, ""},
      {"/session list", Verb::kSessions, ""},
      {"/skills", Verb::kSkills, ""},
      {"/session skills", Verb::kSkills, ""},
      {"/models", Verb::kModels, ""},
      {"/model", Verb::kModels, ""},
      {"/model list", Verb::kModels, ""},
      {"/model Gpt", Verb::kModel, "Gpt"},
      {"/theme", Verb::kThemes, ""},
      {"/theme list", Verb::kThemes, ""},
      {"/theme light", Verb::kTheme, "light"},
      {"/approvals", Verb::kApprovals, ""},
      {"/dashboard", Verb::kDashboard, ""},
      {"/cancel", Verb::kCancel, ""},
      {"/help", Verb::kHelp, ""},
      {"/quit", Verb::kQuit, ""},
  };
  for (const Accepted& each : accepted) {
    const ParsedSlash expected = {SlashCommand{each.verb, each.argument}, ""};
    EXPECT_EQ(ParseSlash(each.line), expected) << each.line;
    EXPECT_EQ(ParseSlash(" \t" + each.line + "  \n"), expected) << each.line;
    EXPECT_EQ(ParseSlash(WithUpperWords(each)), expected) << WithUpperWords(each);
    std::string wide = each.line;
    wide.replace(0, 1, "/  ");
    EXPECT_EQ(ParseSlash(wide), expected) << wide;
  }
}

TEST(SlashCommandTest, ASessionIsNamedByItsIdOrByAUuid) {
  for (const char* const line : {"/join ", "/session join ", "/session ", "/SESSION JOIN "}) {
    for (const std::string id : {kUuid, kId}) {
      EXPECT_EQ(ParseSlash(line + id), (ParsedSlash{SlashCommand{Verb::kJoin, kId}, ""})) << line;
    }
    for (const char* const id :
         {"x", "ses_", "0123456789abcdef0123456789abcdef", "01234567-89ab-cdef-0123-456789abcdeg",
          "ses_0123456789abcdef0123456789abcdef0"}) {
      EXPECT_EQ(ParseSlash(std::string(line) + id),
                (ParsedSlash{std::nullopt, "invalid session id"}))
          << line << id;
    }
  }
}

TEST(SlashCommandTest, WhatIsMissingIsSaid) {
  const std::pair<const char*, const char*> refused[] = {
      {"/bundle", kBundleUsage},
      {"/bundle a b", kBundleUsage},
      {"/bundle use", "usage: /bundle use <bundle_ref>"},
      {" /BUNDLE  USE ", "usage: /bundle use <bundle_ref>"},
      {"/bundle use a b", "usage: /bundle use <bundle_ref>"},
      {"/join", "usage: /join <session_id>"},
      {"/session join", "usage: /session join <session_id>"},
      {"/session", kSessionUsage},
      {"/session new x", kSessionUsage},
      {"/session a b", kSessionUsage},
      {"/new x", "usage: /new"},
      {"/theme a b", "usage: /theme [list|<name>]"},
      {"/x", "unknown command: x"},
      {" /x y ", "unknown command: x"},
      {"/newer", "unknown command: newer"},
      {"//", "unknown command: /"},
  };
  for (const auto& [line, error] : refused) {
    EXPECT_EQ(ParseSlash(line), (ParsedSlash{std::nullopt, error})) << line;
  }
}

TEST(SlashCommandTest, PlainTextAndASlashAloneAreNoCommands) {
  for (const char* const line : {"", " ", "/", " / ", "new", "a /new", "!ls", "\\/new"}) {
    EXPECT_EQ(ParseSlash(line), std::nullopt) << line;
  }
}

std::string NamesOf(const std::vector<PaletteEntry>& entries) {
  std::string out;
  for (const PaletteEntry& entry : entries) out += std::string(entry.name) + " ";
  return out;
}

TEST(SlashCommandTest, ThePaletteFiltersByPrefix) {
  EXPECT_EQ(
      NamesOf(PaletteOf("/")).find("new bundle bundles agents agent sessions skills models theme "),
      0u);
  EXPECT_EQ(NamesOf(PaletteOf("/b")), "bundle bundles ");
  EXPECT_EQ(NamesOf(PaletteOf("/BUNDLES")), "bundles ");
  EXPECT_EQ(NamesOf(PaletteOf("/s")), "sessions skills ");
  EXPECT_EQ(NamesOf(PaletteOf("/zz")), "");
  for (const char* const line : {"", "b", " /b", "/bundle ", "/bundle x"}) {
    EXPECT_EQ(NamesOf(PaletteOf(line)), "") << line;
  }
}

// What the palette and the help offer is there.
TEST(SlashCommandTest, EveryEntryOfThePaletteIsACommand) {
  for (const PaletteEntry& entry : PaletteOf("/")) {
    const auto parsed = ParseSlash("/" + std::string(entry.name));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->error.find("unknown"), std::string::npos) << entry.name;
  }
}

}  // namespace
}  // namespace odyssey::ctl
