#include "agentd/base/json_text.h"

#include <gtest/gtest.h>

namespace odyssey::agent {
namespace {

TEST(CanonicalObjectTest, PrintsOneWay) {
  EXPECT_EQ(*CanonicalObject(" {\"b\" : 1, \"a\":[ 1,2 ]} "), R"({"a":[1,2],"b":1})");
  EXPECT_EQ(*CanonicalObject(""), "{}");
  EXPECT_EQ(*CanonicalObject(" \n"), "{}");
}

TEST(CanonicalObjectTest, RefusesWhatIsNoObject) {
  for (const char* bad : {"[1]", "1", "{\"a\":", "{'a':1}", "{} {}", "null"}) {
    EXPECT_EQ(CanonicalObject(bad).status(), InvalidArgument("not a JSON object")) << bad;
  }
}

TEST(CanonicalObjectTest, RefusesDeepNesting) {
  std::string deep = "{\"a\":";
  for (int i = 0; i < 100'000; ++i) deep += '[';
  EXPECT_FALSE(CanonicalObject(deep).ok());
  for (int i = 0; i < 100'000; ++i) deep += ']';
  EXPECT_EQ(CanonicalObject(deep + "}").status().code(), Code::kInvalidArgument);
}

TEST(JsonTextTest, QuotesAndReplaces) {
  EXPECT_EQ(JsonString("a\"b\n"), R"("a\"b\n")");
  EXPECT_EQ(ErrorObject("x\xFF"), "{\"error\":\"x\xEF\xBF\xBD\"}");
}

}  // namespace
}  // namespace odyssey::agent
