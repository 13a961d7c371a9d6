#include "supervisor/rpc/image_name.h"

#include <gtest/gtest.h>

namespace odyssey::supervisor {
namespace {

std::string Normal(std::string_view text) {
  const auto name = NormalImageName(text);
  return name.ok() ? *name : "refused";
}

TEST(ImageNameTest, HasATag) {
  EXPECT_EQ(Normal("debian"), "debian:latest");
  EXPECT_EQ(Normal("debian:12"), "debian:12");
  EXPECT_EQ(Normal("registry.test:5000/team/app"), "registry.test:5000/team/app:latest");
  EXPECT_EQ(Normal("registry.test:5000/team/app:1.2-RC"), "registry.test:5000/team/app:1.2-RC");
}

TEST(ImageNameTest, RefusesWhatIsNone) {
  for (const char* const text : {"", ":", ":1", "a:", "A", "a/", "/a", "a//b", "a b", "a/../b",
                                 "-a", "a:b/c:", "a\n", "sha256:0123", "a@sha256:0123"}) {
    EXPECT_EQ(Normal(text), "refused") << text;
  }
  EXPECT_EQ(Normal(std::string(256, 'a')), "refused");
  EXPECT_EQ(Normal("a:" + std::string(129, 'a')), "refused");
}

TEST(ImageNameTest, ADigestIsNoName) {
  EXPECT_TRUE(IsImageDigest("sha256:" + std::string(64, 'a')));
  EXPECT_FALSE(IsImageDigest("sha256:" + std::string(63, 'a')));
  EXPECT_FALSE(IsImageDigest("sha256:" + std::string(64, 'A')));
  EXPECT_EQ(RepositoryOf("registry.test:5000/app:1"), "registry.test:5000/app");
  EXPECT_EQ(RepositoryOf("registry.test:5000/app"), "registry.test:5000/app");
}

}  // namespace
}  // namespace odyssey::supervisor
