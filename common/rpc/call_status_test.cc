#include "common/rpc/call_status.h"

#include <gtest/gtest.h>

#include "common/base/refusal.h"
#include "common/rpc/error_details.h"

namespace odyssey::rpc {
namespace {

TEST(CallStatusTest, ReadsCodeMessageAndDetail) {
  const Status refused = Refused(Code::kPermissionDenied, "path", "/x", "no");
  CallStatus status;
  status.Add(":status", "200");
  status.Add("grpc-status", "7");
  status.Add("grpc-message", "path: /x: no, 100%25 s\xc3\xbcre%0a");
  // ErrorDetails with a Failure whose field is "path", as gRPC sends it: without padding.
  status.Add(
      "grpc-status-details-bin",
      "CAcaOwotdHlwZS5nb29nbGVhcGlzLmNvbS9vZHlzc2V5LnBvbGljeS52MS5GYWlsdXJlEgoKBHBhdGgSAi94");
  const Status got = status.Get(0);
  EXPECT_EQ(got.code(), Code::kPermissionDenied);
  EXPECT_EQ(got.message(), "path: /x: no, 100% s\xc3\xbcre\n");
  EXPECT_EQ(got.detail(), refused.detail());
}

TEST(CallStatusTest, AnEndWithoutAStatusIsAFailure) {
  EXPECT_EQ(CallStatus().Get(0).code(), Code::kInternal);
  EXPECT_EQ(CallStatus().Get(8).code(), Code::kCancelled);  // RST_STREAM: CANCEL
  EXPECT_EQ(CallStatus().Get(2).code(), Code::kInternal);
  EXPECT_EQ(CallStatus().Get(7).detail().hint, kHintConnectionLost);  // REFUSED_STREAM
  CallStatus http;
  http.Add(":status", "404");
  EXPECT_EQ(http.Get(0), Internal("the server answered with HTTP status 404"));
}

TEST(CallStatusTest, ACodeThatIsNoneIsUnknown) {
  for (const char* code : {"17", "-1", "x", "1x", "99999999999999"}) {
    CallStatus status;
    status.Add("grpc-status", code);
    EXPECT_EQ(status.Get(0).code(), Code::kUnknown) << code;
  }
}

TEST(CallStatusTest, WhatIsNotEncodedStays) {
  EXPECT_EQ(DecodePercent("100%"), "100%");
  EXPECT_EQ(DecodePercent("%4"), "%4");
  EXPECT_EQ(DecodePercent("%zz%41"), "%zzA");
  EXPECT_EQ(DecodeBase64("YQ=="), "a");
  EXPECT_EQ(DecodeBase64("YWI"), "ab");
  EXPECT_EQ(DecodeBase64("Y!"), "");
}

}  // namespace
}  // namespace odyssey::rpc
