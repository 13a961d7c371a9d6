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
  EXPECT_EQ(Read(""), "f: the file holds no document");
  EXPECT_EQ(Read("a: [1\n").substr(0, 4), "f:2:");
  EXPECT_EQ(Read("a: \xff\n"), "f: not UTF-8 text");
  EXPECT_EQ(Read(std::string_view("a\0\0\0:\0\0\0", 8)),
            "f:1: a control character; write it as an escape in double quotes");
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
