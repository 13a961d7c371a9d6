#include "ctl/daemon/up_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace odyssey::ctl {
namespace {

class UpLockTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/odyssey-up-lock-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
    path_ = directory_ + "/up.lock";
  }
  void TearDown() override {
    unlink(path_.c_str());
    rmdir(directory_.c_str());
  }
  std::string directory_;
  std::string path_;
};

TEST_F(UpLockTest, SecondHolderIsToldTheFirstOnesPid) {
  const Result<UpLock> first = UpLock::Acquire(path_);
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  const Result<UpLock> second = UpLock::Acquire(path_);
  EXPECT_EQ(second.status().code(), Code::kAlreadyExists);
  EXPECT_EQ(second.status().message(),
            "pid " + std::to_string(getpid()) + " already runs on this state (" + path_ + ")");
}

TEST_F(UpLockTest, HolderIsFoundWhileItHolds) {
  {
    const Result<UpLock> lock = UpLock::Acquire(path_);
    ASSERT_TRUE(lock.ok());
    const Result<std::optional<LockHolder>> found = FindLockHolder(path_);
    ASSERT_TRUE(found.ok()) << found.status().ToString();
    ASSERT_TRUE(found->has_value());
    EXPECT_EQ((*found)->pid, getpid());
  }
  EXPECT_FALSE(FindLockHolder(path_)->has_value());
  EXPECT_TRUE(UpLock::Acquire(path_).ok());
}

TEST_F(UpLockTest, NobodyHoldsAFileThatIsNotThere) {
  const Result<std::optional<LockHolder>> found = FindLockHolder(path_);
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->has_value());
}

TEST_F(UpLockTest, StalePidOfAnotherProcessIsNotSignalled) {
  std::ofstream(path_) << getppid() << "\n";
  EXPECT_FALSE(FindLockHolder(path_)->has_value());

  // Locked by this process, but the file names another one.
  const UniqueFd fd(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(flock(fd.get(), LOCK_EX), 0);
  EXPECT_EQ(FindLockHolder(path_).status().code(), Code::kFailedPrecondition);
}

}  // namespace
}  // namespace odyssey::ctl
