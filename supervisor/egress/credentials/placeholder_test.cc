#include "supervisor/egress/credentials/placeholder.h"

#include <gtest/gtest.h>

namespace odyssey::egress::credentials {
namespace {

Shape ShapeOrDie(std::string_view secret) {
  const Result<Shape> shape = ShapeOf(secret);
  EXPECT_TRUE(shape.ok()) << secret << ": " << shape.status().message();
  return shape.ok() ? *shape : Shape{};
}

TEST(PlaceholderTest, KeepsTheBeginningOfKindsOfTokens) {
  EXPECT_EQ(ShapeOrDie("ghp_0123456789abcdefABCDEF").prefix, "ghp_");
  EXPECT_EQ(ShapeOrDie("sk-proj-0123456789abcdefABCDEF").prefix, "sk-proj-");
  EXPECT_EQ(ShapeOrDie("github_pat_0123456789abcdefABCDEF").prefix, "github_pat_");
  EXPECT_EQ(ShapeOrDie("AKIAIOSFODNN7EXAMPLE").prefix, "AKIA");
}

TEST(PlaceholderTest, KeepsNothingOfAPasswordOrAnIdentifier) {
  for (const char* secret :
       {"550e8400-e29b-41d4-a716-446655440000", "my-secret-pass-9", "correct-horse-battery-staple",
        "0123456789abcdef", "Ab_0123456789abcdef"}) {
    EXPECT_EQ(ShapeOrDie(secret).prefix, "") << secret;
  }
}

TEST(PlaceholderTest, LooksLikeTheSecret) {
  const std::string secret = "ghp_aZ09/+=.aaaaaaaaAAAA0000";
  const std::string text = MakePlaceholder("k", "gh", "GH_TOKEN", ShapeOrDie(secret));
  ASSERT_EQ(text.size(), secret.size());
  EXPECT_NE(text, secret);
  EXPECT_EQ(text.substr(0, 4), "ghp_");
  EXPECT_EQ(ShapeOrDie(text), ShapeOrDie(secret));
}

TEST(PlaceholderTest, IsOfTheCellAndTheKeyAndNotOfTheSecret) {
  const Shape shape = ShapeOrDie("0123456789abcdefghij");
  const std::string text = MakePlaceholder("cell", "gh", "A", shape);
  EXPECT_EQ(MakePlaceholder("cell", "gh", "A", ShapeOrDie("9876543210zyxwvutsrq")), text);
  EXPECT_NE(MakePlaceholder("other", "gh", "A", shape), text);
  EXPECT_NE(MakePlaceholder("cell", "gl", "A", shape), text);
  EXPECT_NE(MakePlaceholder("cell", "gh", "B", shape), text);
}

TEST(PlaceholderTest, RefusesWhatNoHeaderTakesOrIsFoundEverywhere) {
  for (const char* secret :
       {"", "short", "--------------------", "0123456789abcdef\n", "0123456789\r\nHost: x",
        " 0123456789abcdef", "0123456789abcd\xc3\xa9"}) {
    EXPECT_EQ(ShapeOf(secret).status().code(), Code::kInvalidArgument) << secret;
  }
  EXPECT_FALSE(ShapeOf(std::string("0123456789\0abcdef", 17)).ok());
}

}  // namespace
}  // namespace odyssey::egress::credentials
