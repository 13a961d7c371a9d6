#include "ctl/tui/own_files.h"

#include <gtest/gtest.h>

namespace odyssey::ctl {
namespace {

TEST(OwnFilesTest, TextsAreReadAsTheyWereWritten) {
  const std::vector<std::string> lines = {"/new", "a \"quoted\"\nline", "日本"};
  EXPECT_EQ(ParseHistory(HistoryText(lines)), lines);
  EXPECT_EQ(ParseSettings(SettingsText("light")), "light");
}

TEST(OwnFilesTest, WhatIsNoneOfThemIsNothing) {
  for (const char* const text : {"", "{", "{}", "7", "\"x\"", "{\"theme\":7}"}) {
    EXPECT_EQ(ParseHistory(text), std::nullopt) << text;
    EXPECT_EQ(ParseSettings(text), std::nullopt) << text;
  }
  EXPECT_EQ(ParseHistory("[1,\"a\",null]"), (std::vector<std::string>{"a"}));
}

}  // namespace
}  // namespace odyssey::ctl
