#include "ctl/tui/typed_line.h"

#include <gtest/gtest.h>

namespace odyssey::ctl {
namespace {

TEST(TypedLineTest, EditsByCharacters) {
  TypedLine line;
  line.Insert("aé日");
  line.Left();
  line.EraseBefore();
  EXPECT_EQ(line.text(), "a日");
  line.Insert("b");
  EXPECT_EQ(line.text(), "ab日");
  line.EraseAfter();
  EXPECT_EQ(line.text(), "ab");
  line.Begin();
  line.EraseBefore();
  line.Left();
  EXPECT_EQ(line.cursor(), 0u);
  line.End();
  line.Insert(" cd  ");
  line.EraseWordBefore();
  EXPECT_EQ(line.text(), "ab ");
  line.EraseToBegin();
  EXPECT_EQ(line.text(), "");
}

TEST(TypedLineTest, TheDraftIsKeptBesideTheHistory) {
  TypedLine line;
  line.SetHistory({"one", "two"});
  line.Insert("draft");
  line.Older();
  EXPECT_EQ(line.text(), "two");
  line.Older();
  line.Older();
  EXPECT_EQ(line.text(), "one");
  line.Newer();
  line.Newer();
  EXPECT_EQ(line.text(), "draft");
  line.Newer();
  EXPECT_EQ(line.text(), "draft");
}

TEST(TypedLineTest, WhatIsTakenIsTheLatest) {
  TypedLine line;
  for (const char* const text : {"a", "b", "b", ""}) {
    line.Insert(text);
    EXPECT_EQ(line.Take(), text);
  }
  EXPECT_EQ(line.history(), (std::vector<std::string>{"a", "b"}));
  line.Older();
  EXPECT_EQ(line.text(), "b");
  line.Insert("!");
  EXPECT_EQ(line.Take(), "b!");
  EXPECT_EQ(line.history(), (std::vector<std::string>{"a", "b", "b!"}));
}

TEST(TypedLineTest, TheHistoryHasABound) {
  TypedLine line;
  line.SetHistory(std::vector<std::string>(kMaxHistory + 7, "x"));
  EXPECT_EQ(line.history().size(), kMaxHistory);
  line.Insert("new");
  line.Take();
  EXPECT_EQ(line.history().size(), kMaxHistory);
  EXPECT_EQ(line.history().back(), "new");
}

}  // namespace
}  // namespace odyssey::ctl
