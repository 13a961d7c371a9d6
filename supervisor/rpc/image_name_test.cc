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

TEST(ImageReferenceTest, IsANameADigestOrBoth) {
  const std::string digest = "sha256:" + std::string(64, 'a');
  const auto parse = [](const std::string& text) {
    const auto reference = ParseImageReference(text);
    return reference.ok() ? reference->name + " " + reference->digest : "refused";
  };
  EXPECT_EQ(parse("debian"), "debian:latest ");
  EXPECT_EQ(parse(digest), " " + digest);
  EXPECT_EQ(parse("debian:12@" + digest), "debian:12 " + digest);
  EXPECT_EQ(parse("registry.test:5000/a@" + digest), "registry.test:5000/a:latest " + digest);
  for (const std::string& text :
       {std::string(), "@" + digest, std::string("debian@"), std::string("debian@sha256:0"),
        digest + "@" + digest, "debian@" + digest + "@" + digest}) {
    EXPECT_EQ(parse(text), "refused") << text;
  }
}

TEST(ImageNameTest, ARepositoryIsTheNameWithoutItsTag) {
  EXPECT_EQ(RepositoryOf("registry.test:5000/app:1"), "registry.test:5000/app");
  EXPECT_EQ(RepositoryOf("registry.test:5000/app"), "registry.test:5000/app");
}

}  // namespace
}  // namespace odyssey::supervisor
