#include "agentd/mcp_client/call_result.h"

#include <gtest/gtest.h>

namespace odyssey::mcp_client {
namespace {

constexpr uint64_t kMost = 1000;

Json Text(const std::string& text) { return {{"type", "text"}, {"text", text}}; }

Json Content(const Json& items) { return {{"content", items}}; }

TEST(CallResultTest, JoinsTheTexts) {
  const tools::ToolResult result =
      ToToolResult(Content(Json::array({Text("a"),
                                        Text("b"),
                                        {{"type", "resource_link"}, {"uri", "file:///x"}},
                                        {{"type", "resource"}, {"resource", {{"text", "c"}}}}})),
                   kMost);
  EXPECT_TRUE(result.success);
  EXPECT_EQ(result.json, R"({"content":"a\nb\nfile:///x\nc"})");
}

TEST(CallResultTest, CutsBetweenCharacters) {
  const tools::ToolResult result = ToToolResult(Content(Json::array({Text("aé")})), 2);
  EXPECT_EQ(result.json, R"({"content":"a","truncated":true,"total_bytes":3})");
}

TEST(CallResultTest, NamesWhatItLeavesOut) {
  const Json image = {
      {"type", "image"}, {"data", std::string(5000, 'A')}, {"mimeType", "image/png"}};
  EXPECT_EQ(ToToolResult(Content(Json::array({image})), kMost).json,
            R"({"content":"","omitted":[{"type":"image","mime_type":"image/png"}]})");
}

TEST(CallResultTest, StructuredContentStandsForTextThatIsNotThere) {
  Json result = {{"structuredContent", {{"n", 1}}}};
  EXPECT_EQ(ToToolResult(result, kMost).json, R"({"content":"","structured":{"n":1}})");
  result["structuredContent"]["n"] = std::string(2000, 'x');
  EXPECT_EQ(ToToolResult(result, kMost).json,
            R"({"content":"","omitted":[{"type":"structured"}]})");
  result["content"] = Json::array({Text("t")});
  EXPECT_EQ(ToToolResult(result, kMost).json, R"({"content":"t"})");
}

TEST(CallResultTest, AnErrorOfTheToolIsOne) {
  Json failed = Content(Json::array({Text("no")}));
  failed["isError"] = true;
  const tools::ToolResult result = ToToolResult(failed, kMost);
  EXPECT_FALSE(result.success);
  EXPECT_EQ(result.json, R"({"error":"no"})");
}

TEST(CallResultTest, WhatHasNoContentIsNoAnswer) {
  for (const Json& result : {Json(), Json::array(), Json::object(), Json({{"content", "x"}})}) {
    EXPECT_FALSE(ToToolResult(result, kMost).success) << result;
  }
  // An item that is none says nothing.
  EXPECT_TRUE(ToToolResult(Content(Json::array({1, nullptr})), kMost).success);
}

}  // namespace
}  // namespace odyssey::mcp_client
