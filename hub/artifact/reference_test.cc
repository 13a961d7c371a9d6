#include "hub/artifact/reference.h"

#include <gtest/gtest.h>

namespace odyssey::artifact {
namespace {

std::string TargetError(const std::string& text) {
  return ParsePublishTarget(text).status().message();
}

TEST(ReferenceTest, ReadsEveryForm) {
  const std::string digest = DigestOf("x");
  EXPECT_EQ(ParsePullReference("team/demo").value(), (Reference{"team", "demo", "", ""}));
  EXPECT_EQ(ParsePullReference("team/demo:0.1.0").value(),
            (Reference{"team", "demo", "0.1.0", ""}));
  EXPECT_EQ(ParsePullReference("team/demo@0.1.0").value(),
            (Reference{"team", "demo", "0.1.0", ""}));
  EXPECT_EQ(ParsePullReference("team/demo@latest").value(), (Reference{"team", "demo", "", ""}));
  EXPECT_EQ(ParsePullReference("team/demo@" + digest).value(),
            (Reference{"team", "demo", "", digest}));
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
  const Identity bundle = {"local", "demo", "0.1.0"};
  EXPECT_EQ(CheckTarget({"team", "demo", "0.2.0", ""}, bundle).message(),
            "publish target version 0.2.0 does not match bundle version 0.1.0");
  EXPECT_EQ(CheckTarget({"team", "other", "0.1.0", ""}, bundle).message(),
            "publish target id other does not match bundle id demo");
  EXPECT_TRUE(CheckTarget({"team", "demo", "", ""}, bundle).ok());
}

TEST(VersionTest, OrdersBySemanticVersioning) {
  const char* const ascending[] = {"0.2.0",      "0.10.0",      "1.0.0-alpha", "1.0.0-alpha.1",
                                   "1.0.0-rc.2", "1.0.0-rc.10", "1.0.0",       "1.0.1"};
  for (size_t i = 1; i < std::size(ascending); i++) {
    EXPECT_TRUE(VersionLess(ascending[i - 1], ascending[i])) << ascending[i];
    EXPECT_FALSE(VersionLess(ascending[i], ascending[i - 1])) << ascending[i];
  }
  EXPECT_FALSE(VersionLess("1.0.0+a", "1.0.0+b"));
}

}  // namespace
}  // namespace odyssey::artifact
