#include "supervisor/egress/websocket/handshake.h"

#include <gtest/gtest.h>

#include <string>

namespace odyssey::egress::websocket {
namespace {

// RFC 6455 section 1.3.
constexpr char kKey[] = "dGhlIHNhbXBsZSBub25jZQ==", kAccept[] = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

const http::Fields kRequest = {{"Sec-WebSocket-Key", kKey},
                               {"Sec-WebSocket-Version", "13"},
                               {"Sec-WebSocket-Protocol", "one, two"}};

TEST(HandshakeTest, TheExampleOfTheProtocol) { EXPECT_EQ(AcceptOf(kKey), kAccept); }

TEST(HandshakeTest, ARequestHasOneKeyAndOneVersion) {
  EXPECT_EQ(CheckRequest(kRequest), "");
  for (const char* key : {"", "dGhlIHNhbXBsZSBub25jZQ", "dGhlIHNhbXBsZSBub25jZQ=", "dGhlIHNhbXBs",
                          "dGhlIHNhbXBsZSBub25jZQ==, x",
                          "dGhlIHNhbXBsZSBub25j!Q==", "dGhlIHNhbXBsZSBub25jZSBhbmQgbW9yZQ=="}) {
    EXPECT_NE(CheckRequest({{"Sec-WebSocket-Key", key}, {"Sec-WebSocket-Version", "13"}}), "")
        << key;
  }
  EXPECT_NE(CheckRequest({{"Sec-WebSocket-Version", "13"}}), "");
  EXPECT_NE(CheckRequest({{"Sec-WebSocket-Key", kKey}}), "");
  EXPECT_NE(CheckRequest({{"Sec-WebSocket-Key", kKey}, {"Sec-WebSocket-Version", "8"}}), "");
  http::Fields twice = kRequest;
  twice.push_back({"sec-websocket-key", kKey});
  EXPECT_NE(CheckRequest(twice), "");
}

TEST(HandshakeTest, AnAnswerIsTheKeys) {
  EXPECT_EQ(CheckAnswer(kRequest, {{"Sec-WebSocket-Accept", kAccept}}), "");
  EXPECT_NE(CheckAnswer(kRequest, {}), "");
  EXPECT_NE(CheckAnswer(kRequest, {{"Sec-WebSocket-Accept", kKey}}), "");
  EXPECT_NE(CheckAnswer(kRequest, {{"Sec-WebSocket-Accept", "S3pPLMBiTxaQ9kYGzzhZRbK+xOo="}}), "");
  EXPECT_NE(
      CheckAnswer(kRequest, {{"Sec-WebSocket-Accept", kAccept}, {"Sec-WebSocket-Accept", kAccept}}),
      "");
}

TEST(HandshakeTest, AnAnswerHasNothingThatWasNotOffered) {
  const auto check = [](const char* name, const char* value) {
    return std::string(CheckAnswer(kRequest, {{"Sec-WebSocket-Accept", kAccept}, {name, value}}));
  };
  EXPECT_EQ(check("Sec-WebSocket-Protocol", "two"), "");
  EXPECT_NE(check("Sec-WebSocket-Protocol", "three"), "");
  EXPECT_NE(check("Sec-WebSocket-Protocol", "one, two"), "");
  EXPECT_NE(check("Sec-WebSocket-Extensions", "permessage-deflate"), "");
  EXPECT_NE(check("Sec-WebSocket-Extensions", ""), "");
}

}  // namespace
}  // namespace odyssey::egress::websocket
