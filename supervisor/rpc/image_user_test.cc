#include "supervisor/rpc/image_user.h"

#include <gtest/gtest.h>

namespace odyssey::supervisor {
namespace {

constexpr char kPasswd[] =
    "root:x:0:0:root:/root:/bin/sh\n# a comment\nweb:x:33:44:web:/srv:/bin/false\n"
    "big:x:70000:1:::\nbroken\n\n7:x:70:71:::\n";
constexpr char kGroup[] = "root:x:0:\nadm:x:4:web\nstaff:x:50:\n";

std::string Resolve(std::string_view text, std::string_view passwd = kPasswd) {
  const auto user = ResolveImageUser(text, passwd, kGroup);
  if (!user.ok()) return user.status().message();
  return std::to_string(user->uid) + ":" + std::to_string(user->gid);
}

TEST(ImageUserTest, ByNumberAndName) {
  EXPECT_EQ(Resolve(""), "0:0");
  EXPECT_EQ(Resolve("web"), "33:44");
  EXPECT_EQ(Resolve("33"), "33:44");
  EXPECT_EQ(Resolve("34"), "34:0");
  EXPECT_EQ(Resolve("33:7"), "33:7");
  EXPECT_EQ(Resolve("web:adm"), "33:4");
  EXPECT_EQ(Resolve("65535:65535"), "65535:65535");
  EXPECT_EQ(Resolve("7"), "7:0");  // a number is a uid
  EXPECT_EQ(Resolve("1", ""), "1:0");
}

TEST(ImageUserTest, SaysWhatThereIs) {
  EXPECT_EQ(Resolve("www"),
            "www: the image has no such user in /etc/passwd; there are: root, web, 7");
  EXPECT_EQ(Resolve("web:www"),
            "www: the image has no such group in /etc/group; there are: root, adm, staff");
  EXPECT_EQ(Resolve("web", ""), "web: the image has no /etc/passwd");
  EXPECT_EQ(Resolve("a\nb", ""), "a?b: the image has no /etc/passwd");
}

TEST(ImageUserTest, RefusesWhatIsNoUser) {
  EXPECT_EQ(Resolve("65536"), "65536: a number from 0 to 65535 is allowed");
  EXPECT_EQ(Resolve("0:99999999999999"), "99999999999999: a number from 0 to 65535 is allowed");
  EXPECT_EQ(Resolve(":"), ":: give USER or USER:GROUP");
  EXPECT_EQ(Resolve("web:"), "web:: give USER or USER:GROUP");
  EXPECT_EQ(Resolve(":adm"), ":adm: give USER or USER:GROUP");
}

}  // namespace
}  // namespace odyssey::supervisor
