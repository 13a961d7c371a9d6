#include "supervisor/egress/inference/json_text.h"

#include <gtest/gtest.h>

#include "policy/egress/json.h"

namespace odyssey::egress::inference {
namespace {

std::string ValueOf(std::string_view text, std::string_view key) {
  const auto found = FindMember(text, key);
  return found ? std::string(found->Of(text)) : "none";
}

TEST(JsonTextTest, FindsMembersOfTheOutermostObject) {
  const std::string text =
      R"( { "a" : "x\"}, \"k\": 1" , "deep":{"k":[1,{"k":2}]},"n":-1.5e3,"k":[{"}":"]"}, 2 ] ,"z":null} )";
  ASSERT_TRUE(ParseJson(text).ok());
  EXPECT_EQ(ValueOf(text, "a"), R"("x\"}, \"k\": 1")");
  EXPECT_EQ(ValueOf(text, "k"), R"([{"}":"]"}, 2 ])");
  EXPECT_EQ(ValueOf(text, "n"), "-1.5e3");
  EXPECT_EQ(ValueOf(text, "z"), "null");
  EXPECT_EQ(ValueOf(text, "deep"), R"({"k":[1,{"k":2}]})");
  EXPECT_EQ(ValueOf(text, "x"), "none");
  EXPECT_EQ(ValueOf("{}", "x"), "none");
  EXPECT_EQ(ValueOf("[1]", "x"), "none");
  EXPECT_EQ(ValueOf("null", "x"), "none");
}

TEST(JsonTextTest, KeysMayBeEscaped) {
  EXPECT_EQ(ValueOf(R"({"\u006dodel":"m"})", "model"), R"("m")");
  EXPECT_EQ(ValueOf(R"({"\\u006dodel":"m"})", "model"), "none");
}

TEST(JsonTextTest, ReplacesOneMemberAndKeepsTheRestAsItIs) {
  EXPECT_EQ(WithMember(R"({ "z":1.10, "model" : "a" , "y":"é"})", "model", R"("b")"),
            R"({ "z":1.10, "model" : "b" , "y":"é"})");
  EXPECT_EQ(WithMember(R"({"a":1})", "k", "true"), R"({"k":true,"a":1})");
  EXPECT_EQ(WithMember(" { } ", "k", "2"), R"({"k":2 } )");
  EXPECT_EQ(WithMember("null", "k", "2"), R"({"k":2})");
}

TEST(JsonTextTest, QuotesWhatEndsAString) {
  EXPECT_EQ(Quoted("a\"b\\\n"), R"("a\"b\\\n")");
  EXPECT_TRUE(ParseJson(Quoted("\xff")).ok());
}

}  // namespace
}  // namespace odyssey::egress::inference
