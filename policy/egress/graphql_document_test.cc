#include "policy/egress/graphql_document.h"

#include <gtest/gtest.h>

namespace odyssey::egress {
namespace {

// "query Q{a b} mutation {c}", or "" if it is refused.
std::string Read(const std::string& document) {
  const Result<std::vector<GraphQlOperation>> operations = ParseGraphQl(document);
  if (!operations.ok()) return "";
  std::string out;
  for (const GraphQlOperation& operation : *operations) {
    out += (out.empty() ? "" : " ") + operation.type + " " + operation.name + "{";
    for (size_t i = 0; i < operation.fields.size(); ++i) {
      out += (i == 0 ? "" : " ") + operation.fields[i];
    }
    out += "}";
  }
  return out;
}

TEST(ParseGraphQlTest, FindsTheRootFieldsBehindAliasesAndFragments) {
  const std::pair<const char*, const char*> cases[] = {
      {"{a}", "query {a}"},
      {"query { a b, a }", "query {a b}"},
      {"query Q($x: [Int!]! = [1, 2] @d, $y: T = {k: \"v\"}) @live { a(x: $x) { deep } }",
       "query Q{a}"},
      {"{ viewer: deleteAll }", "query {deleteAll}"},
      {"mutation M { a: b c: d { e } }", "mutation M{b d}"},
      {"subscription { s }", "subscription {s}"},
      {"{ ...F } fragment F on Query { secret ...G } fragment G on Query { x: more }",
       "query {more secret}"},
      {"{ ... on Query { a } ... @include(if: true) { b } ... { c } }", "query {a b c}"},
      {"fragment F on Q { a ...F } { ...F }", "query {a}"},
      {"{ a @skip(if: true) }", "query {a}"},
      {"query A { a } mutation B { b }", "query A{a} mutation B{b}"},
      {"# {x}\n{ a(s: \"} mutation { x }\", t: \"\"\"\n} { \\\"\"\" \"\"\") }", "query {a}"},
      {"{ a(x: -1.5e+3, y: 0, z: null, e: ENUM, l: [], o: {}) }", "query {a}"},
      {"{ a { ...F } } fragment F on T { below }", "query {a}"},
      {"query query { query }", "query query{query}"},
      {"{ __typename __schema { types { name } } }", "query {__schema __typename}"},
  };
  for (const auto& [document, fields] : cases) EXPECT_EQ(Read(document), fields) << document;
}

TEST(ParseGraphQlTest, RefusesWhatIsNoDocument) {
  const std::string cases[] = {"",
                               "#",
                               "{}",
                               "{ a ",
                               "{ a }}",
                               "{ a() }",
                               "{ a(x: ) }",
                               "{ a { } }",
                               "{ a: }",
                               "{ :a }",
                               "{ 1 }",
                               "{ a(x: 01) }",
                               "{ a(x: 1.) }",
                               "{ a(x: 1a) }",
                               "{ a(x: \"b) }",
                               "{ a(x: \"\n\") }",
                               "{ a(x: \"\\q\") }",
                               "{ a(x: \"\"\"b) }",
                               "{ a ; b }",
                               "{ a } { b }",
                               "query A { a } { b }",
                               "query A { a } query A { b }",
                               "query () { a }",
                               "query A",
                               "fragment F on Q { a }",
                               "{ ...F }",
                               "{ ...F } fragment F on Q { ...F }",
                               "{ a { ...F } }",
                               "{ ...F } fragment F on Q { a } fragment F on Q { b }",
                               "{ ... } ",
                               "{ ...on }",
                               "fragment on on Q { a } { b }",
                               "type Query { a: Int }",
                               "extend type Query { a: Int }",
                               "\"description\" query { a }",
                               "{ a(x: $) }",
                               "\xFF{a}",
                               std::string("{a}\0", 4)};
  for (const std::string& document : cases) EXPECT_EQ(Read(document), "") << document;
}

TEST(ParseGraphQlTest, BoundsNesting) {
  const auto nested = [](size_t depth, const std::string& open, const std::string& close) {
    std::string out;
    for (size_t i = 0; i < depth; ++i) out += open;
    for (size_t i = 0; i < depth; ++i) out += close;
    return out;
  };
  EXPECT_NE(Read("{ a" + nested(60, "{a", "}") + "}"), "");
  EXPECT_EQ(Read("{ a" + nested(100'000, "{a", "}") + "}"), "");
  EXPECT_EQ(Read("{ a(x: " + nested(100'000, "[", "]") + ") }"), "");
  EXPECT_EQ(Read("query ($x: " + nested(100'000, "[", "]") + ") { a }"), "");
  std::string chain = "{ ...F0 }";
  for (int i = 0; i < 1000; ++i) {
    chain += " fragment F" + std::to_string(i) + " on Q { ...F" + std::to_string(i + 1) + " }";
  }
  EXPECT_EQ(Read(chain + " fragment F1000 on Q { a }"), "");
}

}  // namespace
}  // namespace odyssey::egress
