#include "supervisor/egress/credentials/replacer.h"

#include <gtest/gtest.h>

namespace odyssey::egress::credentials {
namespace {

// Fed in pieces of that size.
std::string Replaced(const std::vector<Replacement>& all, std::string_view bytes, size_t piece) {
  Replacer replacer(all);
  std::string out;
  for (size_t at = 0; at < bytes.size(); at += piece) out += replacer.Feed(bytes.substr(at, piece));
  return out + replacer.End();
}

TEST(ReplacerTest, ReplacesAcrossEveryBorder) {
  const std::vector<Replacement> all = {{"secret", "PLACED"}, {"sesame", "OPENED"}};
  const std::string bytes = "sesecretsecsesamesecresecret sec";
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    EXPECT_EQ(Replaced(all, bytes, piece), "sePLACEDsecOPENEDsecrePLACED sec") << piece;
  }
}

TEST(ReplacerTest, MasksAKeyHoweverItIsCut) {
  const std::vector<Replacement> key = {{"sk-1234", ""}};
  const std::string text = "ab sk-12 sk-1234 sk-sk-1234sk-1234 sk-123";
  for (size_t piece = 1; piece < text.size(); ++piece) {
    EXPECT_EQ(Replaced(key, text, piece), "ab sk-12 ******* sk-************** sk-123") << piece;
  }
  Replacer mask(key);
  EXPECT_EQ(mask.Feed("data: s"), "data: ");
  EXPECT_EQ(mask.Feed("\n\n"), "s\n\n");
}

TEST(ReplacerTest, KeepsTheLength) {
  EXPECT_EQ(Replaced({{"secret", "PL"}}, "a secret.", 3), "a PL****.");
  EXPECT_EQ(Replaced({{"secret", "PLACEHOLDER"}}, "a secret.", 3), "a PLACEH.");
}

TEST(ReplacerTest, HoldsBackNoMoreThanCouldBegin) {
  Replacer replacer(std::vector<Replacement>{{"aab", "xyz"}});
  EXPECT_EQ(replacer.Feed("event: aaa"), "event: a");
  EXPECT_FALSE(replacer.found());
  EXPECT_EQ(replacer.Feed("b"), "xyz");
  EXPECT_TRUE(replacer.found());
  EXPECT_EQ(replacer.Feed("\n\n"), "\n\n");
  EXPECT_EQ(replacer.End(), "");
}

TEST(ReplacerTest, FindsTheLongerOfTwoThatBeginAlike) {
  EXPECT_EQ(Replaced({{"abc", "xyz"}, {"abcdef", "uvwxyz"}}, "-abcdef-abc-", 12), "-uvwxyz-xyz-");
}

TEST(ReplacerTest, DoesNotGiveAwayATextThatIsCut) {
  const std::string secret = "0123456789abcdefghij";
  Replacer replacer(std::vector<Replacement>{{secret, std::string(20, 'x')}});
  EXPECT_EQ(replacer.Feed(secret.substr(0, 19)), "");
  EXPECT_EQ(replacer.End(), std::string(19, 'x'));
}

TEST(ReplacerTest, PassesOnWhatItHasNoTextFor) {
  EXPECT_EQ(Replaced({}, "as it is", 3), "as it is");
  EXPECT_EQ(Replaced({{"", "x"}}, "as it is", 3), "as it is");
  EXPECT_EQ(Replacer(std::vector<Replacement>{{"is", "no"}}).Whole("as it is"), "as it no");
}

}  // namespace
}  // namespace odyssey::egress::credentials
