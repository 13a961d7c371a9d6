#include "agentd/package/reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace odyssey::package {
namespace {

using Kind = Reference::Kind;

// ODY-031
TEST(ReferenceTest, IsParsedByItsForm) {
  const std::string hex(64, 'a');
  for (const auto& [text, expected] : std::vector<std::pair<std::string, Reference>>{
           {"demo", {Kind::kName, "", "local", "demo", "", ""}},
           {"demo@latest", {Kind::kName, "", "local", "demo", "", ""}},
           {"demo@1.2.3", {Kind::kName, "", "local", "demo", "1.2.3", ""}},
           {"team/demo", {Kind::kName, "", "team", "demo", "", ""}},
           {"team/demo@0.2.0", {Kind::kName, "", "team", "demo", "0.2.0", ""}},
           {"team/demo:0.2.0", {Kind::kName, "", "team", "demo", "0.2.0", ""}},
           {"team/demo@sha256:" + hex, {Kind::kDigest, "", "team", "demo", "", hex}},
           {"sha256:" + hex, {Kind::kDigest, "", "", "", "", hex}},
           {"./x", {Kind::kPath, "./x", "", "", "", ""}},
           {"/x", {Kind::kPath, "/x", "", "", "", ""}}}) {
    const Result<Reference> parsed = ParseReference(text);
    ASSERT_TRUE(parsed.ok()) << text << ": " << parsed.status().message();
    EXPECT_EQ(*parsed, expected) << text;
  }
}

TEST(ReferenceTest, RefusesWhatIsNone) {
  for (const auto& [text, cause] : std::vector<std::pair<std::string, std::string>>{
           {"x.odyssey", "bundle archives must be imported before use: x.odyssey"},
           {"/d/x.odyssey", "bundle archives must be imported before use: /d/x.odyssey"},
           {"", "a bundle reference cannot be empty"},
           {std::string("/d\0x", 4), "a bundle reference has at most 4096 bytes, and no NUL byte"},
           {std::string(4097, 'x'), "a bundle reference has at most 4096 bytes, and no NUL byte"},
           {"a/b/c", "bundle id must not contain path separators or traversal segments: b/c"},
           {"demo@../x",
            "bundle version must not contain path separators or traversal segments: ../x"},
           {"team/demo@", "bundle version cannot be empty"}}) {
    EXPECT_EQ(ParseReference(text).status(), InvalidArgument("invalid bundle: " + cause)) << text;
  }
  EXPECT_FALSE(ParseReference("team/demo@sha256:../../x").ok());
}

TEST(ReferenceTest, OrdersVersions) {
  const std::vector<std::string> sorted = {
      "0.2.0",        "0.10.0",        "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-beta",
      "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0",       "1.0.1",         "2",
      "10.0.0"};
  for (size_t i = 0; i < sorted.size(); ++i) {
    for (size_t j = 0; j < sorted.size(); ++j) {
      EXPECT_EQ(VersionLess(sorted[i], sorted[j]), i < j) << sorted[i] << " " << sorted[j];
    }
  }
  EXPECT_FALSE(VersionLess("1.0.0+b", "1.0.0+a")) << "by text, if nothing else differs";
  EXPECT_TRUE(VersionLess("1.0.0+b", "1.0.1+a"));
}

}  // namespace
}  // namespace odyssey::package
