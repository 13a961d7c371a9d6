#include "common/base/status.h"

#include <errno.h>
#include <gtest/gtest.h>

#include <memory>

#include "common/base/refusal.h"

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

TEST(StatusTest, ADetailSaysWhatAFailureIsAbout) {
  EXPECT_EQ(NotFound("x").detail(), Detail{});
  const Status denied = ErrnoStatus(EACCES, "open /x").OfItem(3);
  EXPECT_EQ(denied.detail(), (Detail{.error = EACCES, .item = 3}));
  const Status refused = Refused(Code::kInvalidArgument, "source", "/x", "no");
  EXPECT_EQ(refused, InvalidArgument("source: /x: no")) << "a detail is no part of what it says";
  EXPECT_EQ(refused.detail(), (Detail{.field = "source", .value = "/x"}));
  const Status above = OfField("mounts[2]", refused);
  EXPECT_EQ(above.message(), "mounts[2].source: /x: no");
  EXPECT_EQ(above.detail(), (Detail{.field = "mounts[2].source", .value = "/x"}));
  EXPECT_EQ(OfField("workspace", NotFound("no")).message(), "workspace: no");
  EXPECT_EQ(WhyRefused(above), "/x: no");
  EXPECT_EQ(WithMessage("m", above).detail().field, "mounts[2].source");
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
