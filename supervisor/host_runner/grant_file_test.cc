#include "supervisor/host_runner/grant_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fakes/temporary_directory.h"

namespace odyssey::host_runner {
namespace {

class GrantFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "a grant file is root's";
    path_ = directory_.Write("etc/grants", "alice\n");
    ASSERT_EQ(chmod(path_.c_str(), 0644), 0);
    ASSERT_TRUE(ReadGrants(path_).ok()) << ReadGrants(path_).status().ToString();
  }
  void ExpectRefused(const std::string& named) {
    const Status status = ReadGrants(path_).status();
    EXPECT_EQ(status.code(), Code::kPermissionDenied) << status.ToString();
    EXPECT_NE(status.message().find(named), std::string::npos) << status.ToString();
  }

  const fakes::TemporaryDirectory directory_;
  std::string path_;
};

TEST_F(GrantFileTest, IsReadAnew) {
  EXPECT_EQ(*ReadGrants(path_), std::vector<std::string>{"alice"});
  directory_.Write("etc/grants", "bob\n");
  EXPECT_EQ(*ReadGrants(path_), std::vector<std::string>{"bob"});
  unlink(path_.c_str());
  EXPECT_EQ(ReadGrants(path_).status().code(), Code::kNotFound);
}

TEST_F(GrantFileTest, MustBeRootsAndWritableByNobodyElse) {
  for (const mode_t mode : {0664, 0646, 0666, 0777}) {
    chmod(path_.c_str(), mode);
    ExpectRefused(path_);
  }
  chmod(path_.c_str(), 0644);
  ASSERT_EQ(chown(path_.c_str(), 1000, 0), 0);
  ExpectRefused("belongs to uid 1000");
}

TEST_F(GrantFileTest, MustBeWhereNobodyElseCouldPutAnother) {
  const std::string etc = directory_.path() + "/etc";
  chmod(etc.c_str(), 0775);
  ExpectRefused(etc);
  chmod(etc.c_str(), 0755);
  ASSERT_EQ(chown(etc.c_str(), 1000, 0), 0);
  ExpectRefused(etc);
  ASSERT_EQ(chown(etc.c_str(), 0, 0), 0);
  chmod(etc.c_str(), 01777);
  EXPECT_TRUE(ReadGrants(path_).ok()) << "sticky: nobody else can rename what is root's";
}

TEST_F(GrantFileTest, IsNoLinkAndNoDevice) {
  const std::string file = path_;
  path_ = directory_.path() + "/link";
  ASSERT_EQ(symlink(file.c_str(), path_.c_str()), 0);
  EXPECT_FALSE(ReadGrants(path_).ok());
  ASSERT_EQ(symlink("etc", (directory_.path() + "/way").c_str()), 0);
  path_ = directory_.path() + "/way/grants";
  ExpectRefused(directory_.path() + "/way");
  path_ = directory_.path() + "/pipe";
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  ExpectRefused("no regular file");
}

TEST_F(GrantFileTest, SaysWhichFileHasABadLine) {
  directory_.Write("etc/grants", "alice\nroot\n");
  const Status status = ReadGrants(path_).status();
  EXPECT_EQ(status.message().rfind(path_ + ": line 2: ", 0), 0u) << status.ToString();
}

TEST(FindUserTest, TakesThePrimaryGroupFromTheFile) {
  const fakes::TemporaryDirectory directory;
  const std::string passwd =
      directory.Write("passwd", "root:x:0:0::/root:/bin/sh\nalice:x:1000:100:A:/home/a:/bin/sh\n");
  const auto alice = FindUser(1000, passwd);
  ASSERT_TRUE(alice.ok());
  EXPECT_EQ(alice->name, "alice");
  EXPECT_EQ(alice->gid, 100u);
  EXPECT_EQ(FindUser(1001, passwd).status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace odyssey::host_runner
