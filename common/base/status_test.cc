#include "common/base/status.h"

#include <errno.h>
#include <gtest/gtest.h>

#include <memory>

namespace odyssey {
namespace {

TEST(StatusTest, ReadsAsItsCodeAndMessage) {
  EXPECT_EQ(OkStatus().ToString(), "OK");
  EXPECT_EQ(NotFound("cell x").ToString(), "NOT_FOUND: cell x");
  EXPECT_EQ(CodeName(Code::kUnauthenticated), "UNAUTHENTICATED");
  EXPECT_EQ(CodeName(static_cast<Code>(99)), "UNKNOWN");
}

TEST(StatusTest, ErrnoBecomesTheCodeThatAClientCanActOn) {
  const Status denied = ErrnoStatus(EACCES, "open /x");
  EXPECT_EQ(denied.code(), Code::kPermissionDenied);
  EXPECT_EQ(denied.message(), "open /x: Permission denied");
  EXPECT_EQ(ErrnoStatus(ENOENT, "a").code(), Code::kNotFound);
  EXPECT_EQ(ErrnoStatus(ENOTDIR, "a").code(), Code::kInvalidArgument);
  EXPECT_EQ(ErrnoStatus(EAGAIN, "a").code(), Code::kResourceExhausted);
  EXPECT_EQ(ErrnoStatus(EPIPE, "a").code(), Code::kUnavailable);
  EXPECT_EQ(ErrnoStatus(EIO, "a").code(), Code::kInternal);
}

Result<std::unique_ptr<int>> Make(bool good) {
  if (!good) return Unavailable("not today");
  return std::make_unique<int>(7);
}

Status Use(bool good, int* out) {
  ODY_ASSIGN_OR_RETURN(const std::unique_ptr<int> made, Make(good));
  *out = *made;
  ODY_RETURN_IF_ERROR(OkStatus());
  return OkStatus();
}

TEST(ResultTest, MovesItsValueOutOrPassesItsErrorOn) {
  int value = 0;
  EXPECT_TRUE(Use(true, &value).ok());
  EXPECT_EQ(value, 7);
  EXPECT_EQ(Use(false, &value), Unavailable("not today"));
}

TEST(ResultDeathTest, TheValueOfAnErrorIsABrokenInvariant) {
  EXPECT_DEATH((void)Make(false).value(), "check failed");
  EXPECT_DEATH((void)Result<int>(OkStatus()), "check failed");
}

}  // namespace
}  // namespace odyssey
