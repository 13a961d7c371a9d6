#include "agentd/mcp_client/tool_list.h"

#include <gtest/gtest.h>

namespace odyssey::mcp_client {
namespace {

dialect::McpServerSpec Spec() {
  dialect::McpServerSpec spec;
  spec.name = "s";
  spec.command = {"server"};
  return spec;
}

Json Tool(const std::string& name, const std::string& description = "d",
          const Json& schema = {{"type", "object"}}) {
  return {{"name", name}, {"description", description}, {"inputSchema", schema}};
}

Json Page(const Json& tools, const std::string& next = "") {
  Json out = {{"tools", tools}};
  if (!next.empty()) out["nextCursor"] = next;
  return out;
}

ToolDefinition Only(const dialect::McpServerSpec& spec, const Json& tool) {
  ToolList list(spec);
  EXPECT_TRUE(list.AddPage(Page(Json::array({tool}))).ok());
  EXPECT_EQ(list.tools().size(), 1u);
  return list.tools().empty() ? ToolDefinition() : list.tools()[0];
}

TEST(ToolListTest, OffersToolsUnderTheNameOfTheirServer) {
  const ToolDefinition tool = Only(Spec(), Tool("read", "Reads."));
  EXPECT_EQ(tool.offered_name, "mcp__s__read");
  EXPECT_EQ(tool.description, "Reads.");
  EXPECT_EQ(tool.input_schema, R"({"type":"object"})");
  EXPECT_EQ(tool.digest.size(), std::string("sha256:").size() + 64);
}

TEST(ToolListTest, TheDigestIsOfAllThatTheModelIsTold) {
  const std::string digest = Only(Spec(), Tool("a")).digest;
  EXPECT_NE(Only(Spec(), Tool("b")).digest, digest);
  EXPECT_NE(Only(Spec(), Tool("a", "e")).digest, digest);
  EXPECT_NE(Only(Spec(), Tool("a", "d", {{"type", "object"}, {"x", 1}})).digest, digest);
  dialect::McpServerSpec other = Spec();
  other.command = {"other"};
  EXPECT_NE(Only(other, Tool("a")).digest, digest);
  other.command.clear();
  other.url = "https://x/";
  EXPECT_NE(Only(other, Tool("a")).digest, digest);
  // Of nothing else, and in whatever order the keys come.
  Json annotated = Tool("a", "d", Json::parse(R"({"b":1,"type":"object","a":2})"));
  const std::string sorted = Only(Spec(), annotated).digest;
  annotated = Tool("a", "d", Json::parse(R"({"type":"object","a":2,"b":1})"));
  annotated["annotations"] = {{"readOnlyHint", true}};
  EXPECT_EQ(Only(Spec(), annotated).digest, sorted);
}

TEST(ToolListTest, LeavesOutWhatNoModelCanCall) {
  const dialect::McpServerSpec spec = Spec();
  ToolList list(spec);
  ASSERT_TRUE(list.AddPage(Page(Json::array({Tool("a b"),
                                             Tool(std::string(60, 'x')),
                                             Tool("ok"),
                                             Tool("ok"),
                                             {{"name", "bare"}},
                                             Tool("")})))
                  .ok());
  ASSERT_EQ(list.tools().size(), 2u);  // "" is mcp__s__, which is a name
  std::vector<std::string> refused;
  for (const RefusedTool& tool : list.refused()) refused.push_back(tool.name);
  EXPECT_EQ(refused, (std::vector<std::string>{"a b", std::string(60, 'x'), "ok", "bare"}));
}

TEST(ToolListTest, APinLetsOneDigestThrough) {
  dialect::McpServerSpec spec = Spec();
  spec.pins["a"] = Only(Spec(), Tool("a")).digest;
  EXPECT_TRUE(Only(spec, Tool("a")).pinned);
  ToolList list(spec);
  ASSERT_TRUE(list.AddPage(Page(Json::array({Tool("a", "changed"), Tool("b")}))).ok());
  ASSERT_EQ(list.tools().size(), 1u);
  EXPECT_EQ(list.tools()[0].name, "b");
  ASSERT_EQ(list.refused().size(), 1u);
  EXPECT_NE(list.refused()[0].why.find("mcp_servers.s.pins.a is " + spec.pins["a"]),
            std::string::npos);
}

TEST(ToolListTest, CountsWhatTheManifestWantsOnly) {
  Json many = Json::array();
  for (size_t i = 0; i <= kMaxTools; ++i) many.push_back(Tool("t" + std::to_string(i)));
  dialect::McpServerSpec spec = Spec();
  ToolList all(spec);
  EXPECT_EQ(all.AddPage(Page(many)).status().code(), Code::kResourceExhausted);
  spec.tools = {"t3"};
  ToolList one(spec);
  ASSERT_TRUE(one.AddPage(Page(many)).ok());
  EXPECT_EQ(one.tools().size(), 1u);
}

TEST(ToolListTest, BoundsDescriptionsAndSchemasOfAllPages) {
  const dialect::McpServerSpec spec = Spec();
  ToolList list(spec);
  const std::string half(kMaxDefinitionBytes / 2 + 1, 'x');
  EXPECT_EQ(*list.AddPage(Page(Json::array({Tool("a", half)}), "2")), "2");
  EXPECT_EQ(list.AddPage(Page(Json::array({Tool("b", half)}))).status().code(),
            Code::kResourceExhausted);
}

TEST(ToolListTest, WhatIsNoListIsAnError) {
  const dialect::McpServerSpec spec = Spec();
  for (const Json& page : {Json(), Json::object(), Json({{"tools", 1}}), Page(Json::array({1}))}) {
    ToolList list(spec);
    EXPECT_EQ(list.AddPage(page).status().code(), Code::kInvalidArgument) << page;
  }
}

}  // namespace
}  // namespace odyssey::mcp_client
