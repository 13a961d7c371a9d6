#include "common/os/uid_range.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fakes/temporary_directory.h"

namespace odyssey {
namespace {

constexpr uid_t kBase = 0x70000000;
constexpr uint32_t kSize = 1025;

class UidRangeTest : public ::testing::Test {
 protected:
  uid_t Hold(UniqueFd* held, uid_t base = kBase, uint32_t size = kSize) {
    uid_t first = 0;
    Result<UniqueFd> range = HoldUidRange(locks_, base, size, &first);
    EXPECT_TRUE(range.ok());
    if (range.ok()) *held = std::move(range.value());
    return first;
  }

  const fakes::TemporaryDirectory directory_;
  const std::string locks_ = directory_.path() + "/uids";
};

TEST_F(UidRangeTest, EachHolderHasARangeOfItsOwn) {
  UniqueFd one, two;
  EXPECT_EQ(Hold(&one), kBase);
  EXPECT_EQ(Hold(&two), kBase + kSize);
}

TEST_F(UidRangeTest, ARangeIsFreeOnceItsHolderIsGone) {
  UniqueFd one, two;
  Hold(&one);
  one.reset();
  EXPECT_EQ(Hold(&two), kBase);
}

TEST_F(UidRangeTest, RangesThatOverlapInPartAreNotBothHeld) {
  UniqueFd one, two;
  Hold(&one);
  EXPECT_EQ(Hold(&two, kBase + kSize - 1, 10), kBase + kSize - 1 + 10);
}

TEST_F(UidRangeTest, NoMoreThanAllAreHeld) {
  UniqueFd held[kMaxUidRanges];
  for (UniqueFd& range : held) Hold(&range);
  uid_t first = 0;
  EXPECT_EQ(HoldUidRange(locks_, kBase, kSize, &first).status().code(), Code::kResourceExhausted);
}

TEST_F(UidRangeTest, TheFileIsItsOwnersAloneAndNoLink) {
  UniqueFd one;
  Hold(&one);
  struct stat info {};
  ASSERT_EQ(stat(locks_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600U);
  ASSERT_EQ(symlink(locks_.c_str(), (locks_ + "-link").c_str()), 0);
  uid_t first = 0;
  EXPECT_FALSE(HoldUidRange(locks_ + "-link", kBase, kSize, &first).ok());
}

}  // namespace
}  // namespace odyssey
