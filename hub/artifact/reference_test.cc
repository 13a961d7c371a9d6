#include "hub/artifact/reference.h"

#include <gtest/gtest.h>

#include "common/base/sha256.h"

namespace odyssey::artifact {
namespace {

using Kind = package::Reference::Kind;

std::string TargetError(const std::string& text) {
  return ParsePublishTarget(text).status().message();
}

TEST(ReferenceTest, ReadsEveryForm) {
  const std::string hex = Sha256Hex("x");
  const auto named = [](const std::string& version) {
    return package::Reference{Kind::kName, "", "team", "demo", version, ""};
  };
  EXPECT_EQ(ParsePullReference("team/demo").value(), named(""));
  EXPECT_EQ(ParsePullReference("team/demo:0.1.0").value(), named("0.1.0"));
  EXPECT_EQ(ParsePullReference("team/demo@0.1.0").value(), named("0.1.0"));
  EXPECT_EQ(ParsePullReference("team/demo@latest").value(), named(""));
  EXPECT_EQ(ParsePullReference("team/demo@sha256:" + hex).value(),
            (package::Reference{Kind::kDigest, "", "team", "demo", "", hex}));
}

TEST(ReferenceTest, RefusesWhatNamesNoRepository) {
  EXPECT_EQ(ParsePullReference("demo").status().message(), "remote reference missing repository");
  for (const char* text : {"../x", "a/..", "a/b/c", "a/b@", "a/b@../c", "a/b@sha256:zz", "/b"}) {
    EXPECT_FALSE(ParsePullReference(text).ok()) << text;
  }
}

TEST(ReferenceTest, RefusesTargets) {
  EXPECT_EQ(TargetError("demo:1"), "publish target must be a namespaced remote reference");
  EXPECT_EQ(TargetError("/demo:1"), "publish target must include a namespace");
  EXPECT_EQ(TargetError("team/demo@sha256:" + Sha256Hex("x")).find("reference team/demo@sha256:"),
            0u);
  oci::Config bundle;
  bundle.id = "demo";
  bundle.version = "0.1.0";
  const auto check = [&](const std::string& target) {
    return CheckTarget(ParsePublishTarget(target).value(), bundle);
  };
  EXPECT_EQ(check("team/demo:0.2.0").message(),
            "publish target version 0.2.0 does not match bundle version 0.1.0");
  EXPECT_EQ(check("team/other:0.1.0").message(),
            "publish target id other does not match bundle id demo");
  EXPECT_TRUE(check("team/demo").ok());
}

}  // namespace
}  // namespace odyssey::artifact
