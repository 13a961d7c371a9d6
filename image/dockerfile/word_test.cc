#include "image/dockerfile/word.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace odyssey::dockerfile {
namespace {

std::optional<std::string> LookUp(const std::string& name) {
  static const std::map<std::string, std::string> kVariables = {
      {"A", "one"}, {"EMPTY", ""}, {"long_2", "two words"}};
  const auto found = kVariables.find(name);
  return found == kVariables.end() ? std::nullopt : std::optional<std::string>(found->second);
}

TEST(WordTest, Expands) {
  const std::pair<std::string, std::string> cases[] = {
      {"x", "x"},
      {"$A", "one"},
      {"${A}b", "oneb"},
      {"$Ab", ""},
      {"$long_2", "two words"},
      {"'$A'", "$A"},
      {"\"$A 'x'\"", "one 'x'"},
      {"\\$A", "$A"},
      {"\"\\$A \\n\"", "$A \\n"},
      {"a\\ b", "a b"},
      {"$", "$"},
      {"$1", "$1"},
      {"${A:-x}", "one"},
      {"${EMPTY:-x}", "x"},
      {"${EMPTY-x}", ""},
      {"${NONE:-x}", "x"},
      {"${NONE-x}", "x"},
      {"${A:+x}", "x"},
      {"${EMPTY:+x}", ""},
      {"${EMPTY+x}", "x"},
      {"${NONE:+x}", ""},
      {"${NONE:-${A:-y}$A}", "oneone"},
      {"${NONE:-\"a b\"}", "a b"},
      {"${A:?no}", "one"},
  };
  for (const auto& [word, expanded] : cases) {
    const Result<std::string> got = Expand(word, '\\', LookUp);
    ASSERT_TRUE(got.ok()) << word << ": " << got.status().ToString();
    EXPECT_EQ(*got, expanded) << word;
  }
  EXPECT_EQ(*Expand("a`$A\\", '`', LookUp), "a$A\\");
}

TEST(WordTest, RefusesWhatItDoesNotKnow) {
  const std::pair<std::string, std::string> cases[] = {
      {"${A", "${A: a } is missing"},
      {"${A:-x", "${A: a } is missing"},
      {"${}", "${: expected the name of a variable"},
      {"${A%x}", "${A%: expected }, :-, :+ or :? behind the name"},
      {"${A/x/y}", "${A/: expected }, :-, :+ or :? behind the name"},
      {"${NONE:?is needed}", "NONE: is needed"},
      {"'x", "a ' is not closed"},
      {"\"x", "a \" is not closed"},
  };
  for (const auto& [word, why] : cases) {
    const Result<std::string> got = Expand(word, '\\', LookUp);
    ASSERT_FALSE(got.ok()) << word;
    EXPECT_EQ(got.status().message(), why) << word;
  }
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "${A:-";
  EXPECT_FALSE(CheckWord(deep, '\\').ok());
}

TEST(WordTest, HeredocsKeepQuotes) {
  EXPECT_EQ(*ExpandHeredoc("a '$A' \"${A}\" \\$A \\n\n", '\\', LookUp), "a 'one' \"one\" $A \\n\n");
}

TEST(WordTest, Splits) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(SplitWords("  a\t\"b c\"d 'e f' g\\ h ", '\\'),
            (Words{"a", "\"b c\"d", "'e f'", "g\\ h"}));
  EXPECT_EQ(SplitWords("\"a\\\" b\" c", '\\'), (Words{"\"a\\\" b\"", "c"}));
  EXPECT_EQ(SplitWords("", '\\'), Words());
}

}  // namespace
}  // namespace odyssey::dockerfile
