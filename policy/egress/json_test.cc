#include "policy/egress/json.h"

#include <gtest/gtest.h>

namespace odyssey::egress {
namespace {

Code CodeOf(const std::string& text) { return ParseJson(text).status().code(); }

TEST(ParseJsonTest, ReadsEveryKindOfValue) {
  const Result<Json> json =
      ParseJson(R"( {"a": "x\u0041", "b": [1, -2.5, true, null], "c": {"a": {}}} )");
  ASSERT_TRUE(json.ok()) << json.status().message();
  EXPECT_EQ(json->Find("a")->text, "xA");
  ASSERT_EQ(json->Find("b")->items.size(), 4u);
  EXPECT_TRUE(json->Find("b")->items[3].IsNull());
  EXPECT_TRUE(json->Find("c")->Find("a")->IsObject());
  EXPECT_EQ(json->Find("d"), nullptr);
}

TEST(ParseJsonTest, RefusesWhatReadersReadDifferently) {
  const std::string cases[] = {"",
                               "{",
                               "{} {}",
                               "{'a':1}",
                               "{\"a\":1,}",
                               "[1] x",
                               "// c\n{}",
                               "NaN",
                               "01",
                               "1e999",
                               "\"\xFF\"",
                               "\"\\ud800\"",
                               "\xEF\xBB\xBF{}",
                               std::string("{}\0{}", 5),
                               "{\"a\":\"b\nc\"}"};
  for (const std::string& text : cases) EXPECT_EQ(CodeOf(text), Code::kInvalidArgument) << text;
}

TEST(ParseJsonTest, RefusesDuplicateKeysAtEveryDepth) {
  for (const char* text :
       {R"({"a":1,"a":1})", R"([{"b":{"a":1,"c":2,"a":3}}])", R"({"a":1,"\u0061":2})"}) {
    EXPECT_EQ(CodeOf(text), Code::kAlreadyExists) << text;
  }
  EXPECT_EQ(CodeOf(R"([{"a":1},{"a":1}])"), Code::kOk);
}

TEST(ParseJsonTest, BoundsDepthAndNumberOfValues) {
  EXPECT_EQ(CodeOf(std::string(64, '[') + std::string(64, ']')), Code::kOk);
  EXPECT_EQ(CodeOf(std::string(65, '[') + std::string(65, ']')), Code::kResourceExhausted);
  EXPECT_EQ(CodeOf(std::string(1'000'000, '[')), Code::kResourceExhausted);
  std::string many = "[1";
  for (size_t i = 0; i < kMaxJsonValues; ++i) many += ",1";
  EXPECT_EQ(CodeOf(many + "]"), Code::kResourceExhausted);
}

TEST(LookAlikeTest, IsAKeyThatAReaderIgnoringCaseTakes) {
  EXPECT_EQ(LookAlike(*ParseJson(R"({"method":1,"Method":2})"), {"method"}), "Method");
  EXPECT_EQ(LookAlike(*ParseJson(R"({"param\u017f":2})"), {"params"}), "param\xC5\xBF");
  EXPECT_EQ(LookAlike(*ParseJson(R"({"to\u212aen":2})"), {"token"}),
            "to\xE2\x84\xAA"
            "en");
  EXPECT_EQ(LookAlike(*ParseJson(R"({"method":1,"methods":2})"), {"method"}), "");
}

}  // namespace
}  // namespace odyssey::egress
