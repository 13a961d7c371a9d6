#include "agentd/tool/arguments.h"

#include <gtest/gtest.h>

namespace odyssey::tools {
namespace {

using Kind = policy::ArgumentKind;
using Need = policy::ArgumentNeed;
using policy::ToolArgument;

const std::vector<ToolArgument> kParameters = {{"path", Kind::kString, Need::kRequired, "P"},
                                               {"all", Kind::kBoolean, Need::kOptional, "A"},
                                               {"offset", Kind::kCount, Need::kOptional, "O"}};

TEST(ArgumentsTest, ReadsDeclaredValues) {
  Result<Arguments> given = Arguments::Parse(kParameters, R"({"path":"a","all":true,"offset":7})");
  ASSERT_TRUE(given.ok()) << given.status().ToString();
  EXPECT_EQ(given->String("path"), "a");
  EXPECT_TRUE(given->Boolean("all"));
  EXPECT_EQ(given->Count("offset"), 7u);

  Result<Arguments> less = Arguments::Parse(kParameters, R"({"path":""})");
  ASSERT_TRUE(less.ok());
  EXPECT_FALSE(less->Boolean("all"));
  EXPECT_EQ(less->Count("offset"), 0u);
}

TEST(ArgumentsTest, NamesWhatIsWrong) {
  for (const auto& [json, message] : std::vector<std::pair<const char*, const char*>>{
           {R"({"path":"a","x":1})", "unknown argument \"x\"; allowed: path, all, offset"},
           {R"({})", "missing argument \"path\""},
           {R"({"path":5})", "argument \"path\" must be of type string, not number"},
           {R"({"path":null})", "argument \"path\" must be of type string, not null"},
           {R"({"path":"a","offset":-1})",
            "argument \"offset\" must be of type integer, not number"},
           {R"({"path":"a","offset":1.5})",
            "argument \"offset\" must be of type integer, not number"},
           {R"([])", "not a JSON object"}}) {
    EXPECT_EQ(Arguments::Parse(kParameters, json).status(), InvalidArgument(message)) << json;
  }
}

TEST(ArgumentsTest, WhatMustBeFilledIsNotEmpty) {
  const std::vector<ToolArgument> filled = {{"path", Kind::kString, Need::kFilled, "P"}};
  EXPECT_TRUE(Arguments::Parse(filled, R"({"path":"a"})").ok());
  EXPECT_EQ(Arguments::Parse(filled, R"({"path":""})").status(),
            InvalidArgument("path cannot be empty"));
  EXPECT_EQ(Arguments::Parse(filled, "{}").status(), InvalidArgument("missing argument \"path\""));
}

TEST(ArgumentsTest, AListIsOfObjects) {
  const std::vector<ToolArgument> of_each = {{"old", Kind::kString, Need::kFilled, "O"},
                                             {"all", Kind::kBoolean, Need::kOptional, "A"}};
  const std::vector<ToolArgument> list = {
      {"edits", Kind::kList, Need::kFilled, "E", policy::InDiff::kNo, of_each}};
  const Result<Arguments> given =
      Arguments::Parse(list, R"({"edits":[{"old":"a"},{"old":"b","all":true}]})");
  ASSERT_TRUE(given.ok()) << given.status().ToString();
  const std::vector<Arguments> edits = given->List("edits");
  ASSERT_EQ(edits.size(), 2u);
  EXPECT_EQ(edits[0].String("old"), "a");
  EXPECT_FALSE(edits[0].Boolean("all"));
  EXPECT_TRUE(edits[1].Boolean("all"));
  for (const auto& [json, message] : std::vector<std::pair<const char*, const char*>>{
           {R"({"edits":[]})", "edits cannot be empty"},
           {R"({"edits":"a"})", "argument \"edits\" must be of type array, not string"},
           {R"({"edits":["a"]})", "edits[0]: not a JSON object"},
           {R"({"edits":[{"old":"a"},{"old":""}]})", "edits[1]: old cannot be empty"},
           {R"({"edits":[{"old":"a","x":1}]})",
            "edits[0]: unknown argument \"x\"; allowed: old, all"}}) {
    EXPECT_EQ(Arguments::Parse(list, json).status(), InvalidArgument(message)) << json;
  }
  const nlohmann::json schema = nlohmann::json::parse(SchemaOf(list))["properties"]["edits"];
  EXPECT_EQ(schema["type"], "array");
  EXPECT_EQ(schema["items"], nlohmann::json::parse(SchemaOf(of_each)));
}

TEST(ArgumentsTest, SchemaSaysTheSame) {
  const std::vector<ToolArgument> path = {{"path", Kind::kString, Need::kRequired, "P"}};
  EXPECT_EQ(
      nlohmann::json::parse(SchemaOf(path)),
      nlohmann::json::parse(R"({"type":"object","required":["path"],"additionalProperties":false,
              "properties":{"path":{"type":"string","description":"P"}}})"));
}

}  // namespace
}  // namespace odyssey::tools
