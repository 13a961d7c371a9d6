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

TEST(ArgumentsTest, SchemaSaysTheSame) {
  const std::vector<ToolArgument> path = {{"path", Kind::kString, Need::kRequired, "P"}};
  EXPECT_EQ(
      nlohmann::json::parse(SchemaOf(path)),
      nlohmann::json::parse(R"({"type":"object","required":["path"],"additionalProperties":false,
              "properties":{"path":{"type":"string","description":"P"}}})"));
}

}  // namespace
}  // namespace odyssey::tools
