#include "agentd/model/render.h"

#include <gtest/gtest.h>

namespace odyssey::model {
namespace {

using Json = nlohmann::json;
using scenario::ParseTemplate;
using scenario::Template;

const Scope& TestScope() {
  static const Scope kScope = {
      {"prompt", "hi"},
      {"n", 7},
      {"r",
       Json::parse(
           R"({"stdout":"a\nb\nc\n","code":0,"empty":"","list":[{"name":"x"},{"name":"y"}]})")}};
  return kScope;
}

std::string Rendered(const std::string& text) {
  Result<Template> parsed = ParseTemplate(text);
  if (!parsed.ok()) return "parse: " + parsed.status().message();
  Result<std::string> out = RenderText(*parsed, TestScope());
  return out.ok() ? *out : "render: " + out.status().message();
}

TEST(RenderTest, ReplacesReferences) {
  for (const auto& [text, wanted] : std::vector<std::pair<const char*, const char*>>{
           {"", ""},
           {"plain $ {} } text", "plain $ {} } text"},
           {"<${prompt}>", "<hi>"},
           {"${ r.code }/${n}", "0/7"},
           {"$${HOME} ${prompt}", "${HOME} hi"},
           {"${r.list.1.name}", "y"},
           {"${r.list}", R"([{"name":"x"},{"name":"y"}])"},
           {"${r.stdout | lines}", "3"},
           {"${r.empty | lines}", "0"},
           {"${r.list | count}", "2"},
           {"${r.stdout|trim}", "a\nb\nc"},
           {"${r.stdout | head 2}", "a\nb"},
           {"${r.stdout | tail 1}", "c"},
           {"${r.stdout | head 99}", "a\nb\nc"},
           {"${r.list | pluck \"name\" | join \", \"}", "x, y"},
           {"${r.list | pluck \"name\" | join \"\\n\"}", "x\ny"},
           {"${r.none | default \"-\"}", "-"},
           {"${nobody | default \"-\"}", "-"},
           {"${r.empty | default \"nothing\"}", "nothing"},
           {"${r.none | default \"it's\" | shell}", "'it'\\''s'"},
           {"${prompt | default \"a } b\"}", "hi"}}) {
    EXPECT_EQ(Rendered(text), wanted) << text;
  }
}

TEST(RenderTest, SingleReferenceKeepsItsType) {
  EXPECT_EQ(*Render(*ParseTemplate("${n}"), TestScope()), Json(7));
  EXPECT_EQ(*Render(*ParseTemplate("${n} "), TestScope()), Json("7 "));
}

TEST(RenderTest, NamesWhatHasNoValue) {
  EXPECT_EQ(Rendered("${r.none}"), "render: ${r.none} has no value");
  EXPECT_EQ(Rendered("${r.list.9}"), "render: ${r.list.9} has no value");
  EXPECT_EQ(Rendered("${n | count}"), "render: ${n}: filter count needs a list or a map");
  EXPECT_EQ(Rendered("${n | join \"\"}"), "render: ${n}: filter join needs a list");
}

TEST(RenderTest, DoesNotExpandWhatAValueContains) {
  const Scope scope = {{"a", "${b} $(rm)"}, {"b", "no"}};
  EXPECT_EQ(*RenderText(*ParseTemplate("x ${a}"), scope), "x ${b} $(rm)");
}

TEST(RenderTest, BoundsItsResult) {
  const Scope scope = {{"a", std::string(1024 * 1024, 'x')}};
  EXPECT_EQ(RenderText(*ParseTemplate("${a}${a}${a}${a}${a}"), scope).status().code(),
            Code::kFailedPrecondition);
}

}  // namespace
}  // namespace odyssey::model
