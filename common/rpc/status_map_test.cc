#include "common/rpc/status_map.h"

#include <errno.h>
#include <gtest/gtest.h>

#include "common/base/refusal.h"
#include "odyssey/policy/v1/failure.pb.h"

namespace odyssey::rpc {
namespace {

TEST(StatusMapTest, ADetailTravelsWhole) {
  const Status refused = PermissionDenied("mounts[0].source: /x: no")
                             .With({.field = "mounts[0].source",
                                    .value = "/x",
                                    .allowed = "/srv",
                                    .path = "/x",
                                    .hint = kHintCeiling,
                                    .error = EACCES});
  const Status back = FromGrpc(ToGrpc(refused));
  EXPECT_EQ(back, refused);
  EXPECT_EQ(back.detail(), refused.detail());
}

TEST(StatusMapTest, WithoutADetailNothingIsSent) {
  EXPECT_EQ(ToGrpc(NotFound("x")).error_details(), "");
  EXPECT_EQ(ToGrpc(NotFound("x").OfItem(3)).error_details(), "") << "the client knows no such list";
  EXPECT_TRUE(ToGrpc(OkStatus()).ok());
  EXPECT_EQ(FromGrpc({grpc::StatusCode::NOT_FOUND, "x", "rubbish"}), NotFound("x"));
}

TEST(StatusMapTest, AnAnswerIsToldFromALostConnection) {
  EXPECT_NE(ToGrpc(Unavailable("x")).error_details(), "");
}

TEST(StatusMapTest, AnotherMessageGoesBesideIt) {
  policy::v1::ErrorDetails more, found;
  more.set_code(7);
  const grpc::Status sent = ToGrpc(Refused(Code::kNotFound, "path", "a", "no"), &more);
  EXPECT_EQ(FromGrpc(sent).detail().field, "path");
  ASSERT_TRUE(FindInDetails(sent, &found));
  EXPECT_EQ(found.code(), 7);
  EXPECT_FALSE(FindInDetails(ToGrpc(NotFound("x")), &found));
}

}  // namespace
}  // namespace odyssey::rpc
