#include "policy/dialect/json5.h"

#include <gtest/gtest.h>

#include "policy/dialect/node.h"

namespace odyssey::dialect {
namespace {

// The document as JSON, or its problems.
std::string Read(std::string_view text) {
  Problems problems;
  const std::optional<Node> node = ParseDocument(Format::kJson5, "f", text, &problems);
  std::string out = node ? ToJson(*node) : "";
  for (const Problem& problem : problems) {
    EXPECT_EQ(problem.kind, ProblemKind::kJson5);
    out += ToString(problem);
  }
  return out;
}

TEST(Json5Test, ReadsWhatJson5AddsToJson) {
  EXPECT_EQ(Read("{a: 1, 'b': \"x\", $c_1: [1, 2,], }"), R"({"a":1,"b":"x","$c_1":[1,2]})");
  EXPECT_EQ(Read("// one\n{/* two\n */ a: null /**/} // three"), R"({"a":null})");
  EXPECT_EQ(Read("[0x1F, -0x10, .5, 5., +1, -1.5e+3, 1E2]"), "[31,-16,0.5,5,1,-1.5e+3,1e2]");
  EXPECT_EQ(Read("[true,false,Infinity,-Infinity,NaN]"), "[true,false,null,null,null]");
  EXPECT_EQ(Read("'a\\\nb\\x41\\u00e9\\ud83d\\ude00\\'\\0'"),
            "\"abA\xc3\xa9\xf0\x9f\x98\x80'\\u0000\"");
  EXPECT_EQ(Read("\"it's \\\"\\t\\q\""), "\"it's \\\"\\u0009q\"");
  EXPECT_EQ(Read("\xef\xbb\xbf{\xc2\xa0\\u0061b: 1, \xc3\xa9t\xc3\xa9: 2}"),
            "{\"ab\":1,\"\xc3\xa9t\xc3\xa9\":2}");
  EXPECT_EQ(Read("{}"), "{}");
  EXPECT_EQ(Read(" 7 "), "7");
}

TEST(Json5Test, KnowsWhereEverythingStands) {
  Problems problems;
  const std::optional<Node> node =
      ParseDocument(Format::kJson5, "f", "{\n  a: [\r\n    1],\n b: /*\n*/ 2}", &problems);
  ASSERT_TRUE(node);
  EXPECT_EQ(node->line, 1);
  EXPECT_EQ(node->keys[0].line, 2);
  EXPECT_EQ(node->items[0].items[0].line, 3);
  EXPECT_EQ(node->items[0].items[0].column, 5);
  EXPECT_EQ(node->keys[1].line, 4);
  EXPECT_EQ(node->items[1].line, 5);
}

TEST(Json5Test, NamesTheMistakeAndItsLine) {
  EXPECT_EQ(Read("{a: 1,\n\n a: 2}"), "f:3: duplicate key `a`, first on line 1");
  EXPECT_EQ(Read(""), "f:1: the file is empty");
  EXPECT_EQ(Read("// a\n"), "f:2: the file ends where a value is expected");
  EXPECT_EQ(Read("{a 1}"), "f:1: expected `:` after the key `a`, not `1`");
  EXPECT_EQ(Read("{a: 1\nb: 2}"), "f:2: expected `,` or `}`, not `b`");
  EXPECT_EQ(Read("[1 2]"), "f:1: expected `,` or `]`, not `2`");
  EXPECT_EQ(Read("{1a: 1}"), "f:1: a key may not begin with a digit unless it is quoted");
  EXPECT_EQ(Read("{,}"), "f:1: expected a key, not `,`");
  EXPECT_EQ(Read("[,]"), "f:1: expected a value, not `,`");
  EXPECT_EQ(Read("{} x"), "f:1: unexpected `x` after the document");
  EXPECT_EQ(
      Read("{a: yes}"),
      "f:1: `yes` is not a value: strings need quotes, other values are numbers, true, false, "
      "null");
  EXPECT_EQ(Read("010").substr(0, 10), "f:1: `010`");
  EXPECT_EQ(Read("'a\nb'"),
            "f:1: a line ends inside a string: its closing quote is missing, or a `\\` at the end");
  EXPECT_EQ(Read("\n'a"), "f:2: a string that begins on line 2 has no end");
  EXPECT_EQ(Read("'\\1'"), "f:1: an octal escape in a string");
  EXPECT_EQ(Read("'\\ud800'"), "f:1: an unpaired surrogate in a string");
  EXPECT_EQ(Read("'\\xg'"), "f:1: expected 2 hexadecimal digits");
  EXPECT_EQ(Read("/* x\n"), "f:2: a comment that begins on line 1 has no end");
  EXPECT_EQ(Read("{a: 1"), "f:1: expected `,` or `}`, not the end of the file");
  EXPECT_EQ(Read("{\n'\xff'}"), "f:2: not UTF-8 text: the byte 0xff; save it as UTF-8");
}

TEST(Json5Test, BoundsSizeDepthAndKeys) {
  const size_t depth = kMaxDocumentDepth;
  EXPECT_EQ(Read(std::string(depth, '[') + std::string(depth, ']')),
            std::string(depth, '[') + std::string(depth, ']'));
  EXPECT_EQ(Read(std::string(100000, '[')), "f:1: nested deeper than 64 levels");
  EXPECT_EQ(Read(std::string(kMaxDocumentBytes + 1, ' ')), "f: longer than 1048576 bytes");
  std::string keys = "{";
  for (size_t i = 0; i <= kMaxMapKeys; ++i) keys += "a" + std::to_string(i) + ":0,";
  EXPECT_EQ(Read(keys + "}"), "f:1: a map has at most 1024 keys, and `a1024` is one more");
}

}  // namespace
}  // namespace odyssey::dialect
