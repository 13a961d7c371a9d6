#include "policy/pattern/name_pattern.h"

#include <gtest/gtest.h>

#include <string>

namespace odyssey::pattern {
namespace {

TEST(NamePatternTest, AStarStandsForAnyCharacters) {
  EXPECT_TRUE(NameMatches("LC_ALL", "LC_*"));
  EXPECT_TRUE(NameMatches("LC_", "LC_*"));
  EXPECT_TRUE(NameMatches("A_B_C", "A*B*C"));
  EXPECT_TRUE(NameMatches("AXBXBC", "A*BC"));
  EXPECT_TRUE(NameMatches("", "*"));
  EXPECT_FALSE(NameMatches("XLC_ALL", "LC_*"));
  EXPECT_FALSE(NameMatches("A_B", "A*B*C"));
  EXPECT_FALSE(NameMatches("A", ""));
  EXPECT_FALSE(NameMatches("", "A"));
}

TEST(NamePatternTest, AMarkStandsForOneCharacter) {
  EXPECT_TRUE(NameMatches("key1", "key?"));
  EXPECT_TRUE(NameMatches("k.pem", "?.p*"));
  EXPECT_FALSE(NameMatches("key", "key?"));
  EXPECT_FALSE(NameMatches("key12", "key?"));
  EXPECT_FALSE(NameMatches("", "?"));
}

TEST(NamePatternTest, OtherCharactersMeanThemselves) {
  EXPECT_TRUE(NameMatches("[ab]", "[ab]"));
  EXPECT_FALSE(NameMatches("a", "[ab]"));
  EXPECT_FALSE(NameMatches("a.b", "axb"));
}

TEST(NamePatternTest, TakesTimeInProportionForHostilePatterns) {
  EXPECT_FALSE(NameMatches(std::string(100'000, 'a'), "*a*a*a*a*a*a*a*a*b"));
}

}  // namespace
}  // namespace odyssey::pattern
