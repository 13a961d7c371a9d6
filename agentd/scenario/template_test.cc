#include "agentd/scenario/template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace odyssey::scenario {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(TemplateTest, TellsTextFromReferences) {
  const Result<Template> parsed = ParseTemplate("a $${b} ${c.d.0 | head 2 | join \"\\n\"} e");
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  const Template expected = {
      {"a ${b} ",
       Reference{{"c", "d", "0"}, {{FilterKind::kHead, "", 2}, {FilterKind::kJoin, "\n", 0}}},
       " e"}};
  EXPECT_EQ(*parsed, expected);
  EXPECT_THAT(NamesIn(*parsed), ElementsAre("c"));
}

TEST(TemplateTest, RefusesWhatItCannotRead) {
  for (const char* text :
       {"${", "${}", "${a", "${a.}", "${a | }", "${a | nope}", "${a | head}", "${a | head x}",
        "${a | join x}", "${a | join \"x}", "${a b}", "${a | head 99999999999999999999}"}) {
    EXPECT_THAT(ParseTemplate(text).status().message(), StartsWith("in ${")) << text;
  }
  EXPECT_THAT(ParseTemplate("${a | nope}").status().message(), HasSubstr("allowed: lines, count"));
}

}  // namespace
}  // namespace odyssey::scenario
