#include "ctl/provider/provider_request.h"

#include <gtest/gtest.h>

namespace odyssey::ctl {
namespace {

const std::vector<OptionSpec> kSpecs = {
    {.name = "type", .kind = ValueKind::kText},
    {.name = "credential", .kind = ValueKind::kText, .repeatable = true},
    {.name = "from-file", .kind = ValueKind::kFile, .repeatable = true},
    {.name = "endpoint", .kind = ValueKind::kText, .repeatable = true}};

Result<provider_wire::Put> Make(
    const std::vector<std::pair<std::string, std::string>>& given,
    const ReadSecret& read = [](const std::string& file) -> Result<std::string> {
      return "secret of " + file + "\n";
    }) {
  ParsedOptions options(kSpecs);
  options.AddWord("gh");
  for (const auto& [name, value] : given) options.Add(name, value);
  return MakePut(options, true, read);
}

TEST(MakePutTest, TakesEachSecretFromItsFile) {
  const auto put = Make({{"type", "github"},
                         {"credential", "A"},
                         {"from-file", "a"},
                         {"credential", "B"},
                         {"from-file", "-"},
                         {"endpoint", "a.example.com:443"}});
  ASSERT_TRUE(put.ok()) << put.status().message();
  EXPECT_EQ(put->name, "gh");
  EXPECT_EQ(put->type, "github");
  EXPECT_TRUE(put->create);
  ASSERT_EQ(put->secrets.size(), 2U);
  EXPECT_EQ(put->secrets[0].key, "A");
  EXPECT_EQ(put->secrets[0].value, "secret of a");
  EXPECT_EQ(put->secrets[1].value, "secret of -");
  EXPECT_EQ(put->endpoints, std::vector<std::string>{"a.example.com:443"});
}

TEST(MakePutTest, RefusesWhatDoesNotGoTogether) {
  EXPECT_FALSE(Make({{"credential", "A"}}).ok());
  EXPECT_FALSE(Make({{"from-file", "a"}}).ok());
  EXPECT_FALSE(
      Make({{"credential", "A"}, {"from-file", "-"}, {"credential", "B"}, {"from-file", "-"}})
          .ok());
  for (const char* text : {"", "\n", "two\nlines\n"}) {
    EXPECT_FALSE(Make({{"credential", "A"}, {"from-file", "a"}},
                      [&](const std::string&) -> Result<std::string> { return std::string(text); })
                     .ok())
        << text;
  }
  EXPECT_EQ(Make({{"credential", "A"}, {"from-file", "a"}},
                 [](const std::string&) -> Result<std::string> { return NotFound("none"); })
                .status()
                .message(),
            "none");
}

TEST(FormatProvidersTest, ShowsWhatIsKnownAndNoSecret) {
  const std::vector<provider_wire::Provider> providers = {
      {.name = "gh",
       .type = "github",
       .keys = {"GH_TOKEN", "GITHUB_TOKEN"},
       .endpoints = {"api.example.com:443"},
       .created = 1440938160,
       .rotated = 1440938160},
      {.name = "own", .type = "generic", .keys = {"KEY\x1b"}, .by_operator = true}};
  const std::string text = FormatProviders(providers);
  EXPECT_NE(text.find("GH_TOKEN,GITHUB_TOKEN"), std::string::npos) << text;
  EXPECT_NE(text.find("2015-08-30T12:36:00Z"), std::string::npos) << text;
  EXPECT_NE(text.find("operator"), std::string::npos) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
  EXPECT_EQ(ProvidersJson(providers)["providers"][0]["credentials"][1], "GITHUB_TOKEN");
}

}  // namespace
}  // namespace odyssey::ctl
