#include "policy/dialect/yaml.h"

#include <gtest/gtest.h>

#include "policy/dialect/node.h"

namespace odyssey::dialect {
namespace {

// The document as JSON, or its problems.
std::string Read(std::string_view text) {
  Problems problems;
  const std::optional<Node> node = ParseDocument(Format::kYaml, "f", text, &problems);
  std::string out = node ? ToJson(*node) : "";
  for (const Problem& problem : problems) {
    EXPECT_EQ(problem.kind, ProblemKind::kYaml);
    out += ToString(problem);
  }
  return out;
}

TEST(YamlTest, TypesPlainScalarsAndNoOthers) {
  EXPECT_EQ(
      Read("a: 1\nb: '1'\nc: true\nd: \"true\"\ne: ~\nf:\ng: 1.5\nh: yes\ni: 0x10\nj: 007\n"),
      R"({"a":1,"b":"1","c":true,"d":"true","e":null,"f":null,"g":1.5,"h":"yes","i":16,"j":"007"})");
  EXPECT_EQ(Read("- Infinity\n- NaN\n- 1.2.3\n"), R"(["Infinity","NaN","1.2.3"])");
  EXPECT_EQ(Read("p: |\n  a\n  b\n"), R"({"p":"a\u000ab\u000a"})");
  EXPECT_EQ(Read("{a: [1, {b: c}]}"), R"({"a":[1,{"b":"c"}]})");
}

TEST(YamlTest, KnowsWhereEverythingStands) {
  Problems problems;
  const std::optional<Node> node =
      ParseDocument(Format::kYaml, "f", "a: 1\nb:\n  - x\n  - y\n", &problems);
  ASSERT_TRUE(node);
  EXPECT_EQ(node->keys[1].line, 2);
  EXPECT_EQ(node->items[1].items[1].line, 4);
  EXPECT_EQ(node->items[1].items[1].column, 5);
}

TEST(YamlTest, RefusesWhatReadersDisagreeOn) {
  EXPECT_EQ(Read("a: 1\nb: 2\na: 3\n"), "f:3: duplicate key `a`, first on line 1");
  EXPECT_EQ(Read("a: &x 1\n"), "f:1: anchors (`&name`) are not supported");
  EXPECT_EQ(Read("a: &x [1]\n"), "f:1: anchors (`&name`) are not supported");
  EXPECT_EQ(Read("<<: {a: 1}\n"), "f:1: merge keys (`<<`) are not supported");
  EXPECT_EQ(Read("a: !!str 1\n"), "f:1: tags (`tag:yaml.org,2002:str`) are not supported");
  EXPECT_EQ(Read("a: !x {b: 1}\n"), "f:1: tags (`!x`) are not supported");
  EXPECT_EQ(Read("? [a]\n: 1\n"), "f:1: a key must be a string");
  EXPECT_EQ(Read("a: 1\n---\nb: 2\n"), "f:2: a second document; a file holds one");
  EXPECT_EQ(Read("a: \"\\N\"\n"),
            "f:1: an escape that yields no UTF-8; write the character itself");
  EXPECT_EQ(Read(" \n"), "f:1: the file is empty");
  EXPECT_EQ(Read("# a\n"), "f:1: the file holds nothing but comments");
  EXPECT_EQ(Read("a: [1\n").substr(0, 4), "f:2:");
  EXPECT_EQ(Read("a: b\nc: caf\xe9\n"), "f:2: not UTF-8 text: the byte 0xe9; save it as UTF-8");
  EXPECT_EQ(Read("\xff\xfe"
                 "a"),
            "f:1: is UTF-16: save it as UTF-8");
  EXPECT_EQ(Read(std::string_view("\xff\xfe\0\0a\0\0\0", 8)), "f:1: is UTF-32: save it as UTF-8");
  EXPECT_EQ(Read(std::string_view("a\0\0\0:\0\0\0", 8)),
            "f:1: a control character; write it as an escape in double quotes");
}

TEST(YamlTest, AMistakeIsAtItsLineInTheParsersWords) {
  const std::pair<const char*, const char*> cases[] = {
      {"a:\n\tb: 1\n", "f:2: illegal map value"},
      {"a:\n  b: 1\n\tc: 2\n", "f:3: illegal tab when looking for indentation"},
      {"a:\n  b: c: d\n", "f:2: illegal map value"},
      {"a: *b\n", "f:1: the referenced anchor is not defined"},
      {"a:\n  - b\n  -c: 1\n", "f:3: end of map not found"},
      {"a: {b: 1\n", "f:2: end of map flow not found"},
      {"a: {b: [c}\n", "f:1: illegal flow end"},
      {"a: @b\n", "f:1: unknown token"},
      {"a: |b\n", "f:1: unexpected character in block scalar"},
      {"a: \"\\d\"\n", "f:1: unknown escape character: d"},
      {"a: 1\rb: 2\n",
       "f:1: a carriage return without a line feed; lines end with a line feed, or both"},
  };
  for (const auto& [text, said] : cases) EXPECT_EQ(Read(text), said) << text;
}

// yaml-cpp takes the rest of the file for the text.
TEST(YamlTest, AQuoteThatIsNotClosedIsRefused) {
  const std::string said = "the text in quotes that begins here has no closing quote";
  EXPECT_EQ(Read("a: 1\nb: \"c\nd: 2\n"), "f:2: " + said);
  EXPECT_EQ(Read("a: 'b''\n"), "f:1: " + said);
  EXPECT_EQ(Read("a: \"b\\\"\n"), "f:1: " + said);
  EXPECT_EQ(Read("\"a: 1\n"), "f:1: " + said);
  EXPECT_EQ(Read("\xef\xbb\xbf"
                 "'a: 1\n"),
            "f:1: " + said);
  EXPECT_EQ(Read("a: ! 'b\n"), "f:1: tags (`!`) are not supported");
  EXPECT_EQ(Read("\xef\xbb\xbf"
                 "'a': \"b\\\"'\"\r\nc: '\"''d'\r\n"),
            "{\"a\":\"b\\\"'\",\"c\":\"\\\"'d\"}");
}

TEST(YamlTest, BoundsKeys) {
  std::string keys;
  for (size_t i = 0; i <= kMaxMapKeys; ++i) keys += "a" + std::to_string(i) + ": 0\n";
  EXPECT_EQ(Read(keys), "f:1025: a map has at most 1024 keys, and `a1024` is one more");
}

TEST(YamlTest, BoundsDepth) {
  std::string nested;
  for (int i = 0; i < 70; ++i) nested += "[";
  EXPECT_EQ(Read(nested + std::string(70, ']')), "f:1: nested deeper than 64 levels");
  std::string blocks;
  for (int i = 0; i < 70; ++i) blocks += "- ";
  EXPECT_EQ(Read(blocks + "x").substr(0, 4), "f:1:");
}

}  // namespace
}  // namespace odyssey::dialect
