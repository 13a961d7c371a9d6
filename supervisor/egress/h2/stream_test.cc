#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "supervisor/egress/h2/raw_frames.h"
#include "supervisor/egress/h2/session.h"

namespace odyssey::egress::h2 {
namespace {

using http::Fields;
using Kind = Event::Kind;

const Session::Time kNow{std::chrono::seconds(1000)};
const Fields kGet = {
    {":method", "GET"}, {":scheme", "https"}, {":authority", "h.example"}, {":path", "/a"}};
const Fields kOk = {{":status", "200"}};

// Both sides of one connection.
class H2StreamTest : public testing::Test {
 protected:
  void Move() {
    for (bool moved = true; moved;) {
      moved =
          Carry(&client_, &server_, &server_events_) | Carry(&server_, &client_, &client_events_);
    }
  }
  static std::vector<Kind> Kinds(const std::vector<Event>& events) {
    std::vector<Kind> out;
    for (const Event& event : events) out.push_back(event.kind);
    return out;
  }

  Session client_{Side::kClient}, server_{Side::kServer};
  std::vector<Event> client_events_, server_events_;

 private:
  bool Carry(Session* from, Session* to, std::vector<Event>* events) {
    const std::string bytes = from->TakeOutput();
    to->Receive(bytes, kNow);
    for (Event& event : to->TakeEvents()) events->push_back(std::move(event));
    return !bytes.empty();
  }
};

TEST_F(H2StreamTest, ARequestAndItsResponseWithTrailers) {
  const StreamId stream = client_.Request(kGet, true, Indexing::kAllowed);
  Move();
  ASSERT_EQ(Kinds(server_events_), std::vector{Kind::kRequest});
  EXPECT_TRUE(server_events_[0].ended);
  server_.Respond(stream, {{":status", "200"}, {"content-type", "application/grpc"}}, false);
  server_.Send(stream, "hello");
  server_.End(stream, {{"grpc-status", "0"}});
  Move();
  ASSERT_EQ(Kinds(client_events_),
            (std::vector{Kind::kResponse, Kind::kData, Kind::kEnd, Kind::kClosed}));
  EXPECT_EQ(client_events_[0].response.status, 200);
  EXPECT_EQ(client_events_[1].bytes, "hello");
  EXPECT_EQ(client_events_[2].trailers, (Fields{{"grpc-status", "0"}}));
  EXPECT_EQ(client_events_[3].code, ErrorCode::kNoError);
  EXPECT_EQ(client_.streams() + server_.streams(), 0u);
}

TEST_F(H2StreamTest, InformationalHeadsAreNoEvents) {
  const StreamId stream = client_.Request(kGet, true, Indexing::kAllowed);
  Move();
  server_.Continue(stream);
  server_.Respond(stream, kOk, true);
  Move();
  EXPECT_EQ(Kinds(client_events_), (std::vector{Kind::kResponse, Kind::kClosed}));
}

TEST_F(H2StreamTest, TooManyInformationalHeadsAreMalformed) {
  const StreamId stream = client_.Request(kGet, true, Indexing::kAllowed);
  Move();
  for (int i = 0; i < http::kMaxInformational + 1; ++i) server_.Continue(stream);
  Move();
  EXPECT_EQ(Kinds(client_events_), (std::vector{Kind::kRejected, Kind::kClosed}));
}

TEST_F(H2StreamTest, AResetHasItsCode) {
  const StreamId stream = client_.Request(kGet, false, Indexing::kAllowed);
  Move();
  client_.Reset(stream, ErrorCode::kCancel);
  Move();
  ASSERT_EQ(Kinds(server_events_), (std::vector{Kind::kRequest, Kind::kClosed}));
  EXPECT_EQ(server_events_[1].code, ErrorCode::kCancel);
}

TEST_F(H2StreamTest, AResponseThatDoesNotWaitForTheBody) {
  const StreamId stream = client_.Request(kGet, false, Indexing::kAllowed);
  Move();
  server_.Respond(stream, {{":status", "403"}}, false);
  server_.Send(stream, "no");
  server_.End(stream, {});
  server_.ResetOnceEnded(stream);
  Move();
  EXPECT_EQ(Kinds(client_events_),
            (std::vector{Kind::kResponse, Kind::kData, Kind::kEnd, Kind::kClosed}));
  EXPECT_EQ(client_events_.back().code, ErrorCode::kNoError);
  EXPECT_EQ(server_.streams(), 0u);
}

TEST_F(H2StreamTest, NoMoreIsSentThanThePeerTakes) {
  const StreamId stream = client_.Request(kGet, true, Indexing::kAllowed);
  Move();
  server_.Respond(stream, kOk, false);
  server_.Send(stream, std::string(3 * kStreamWindow, 'x'));
  Move();
  size_t received = 0;
  const auto take = [&] {
    size_t taken = 0;
    for (const Event& event : client_events_) taken += event.bytes.size();
    client_events_.clear();
    received += taken;
    return taken;
  };
  EXPECT_EQ(take(), static_cast<size_t>(kStreamWindow));
  for (const Event& event : server_events_) EXPECT_NE(event.kind, Kind::kTaken);
  for (int i = 0; i < 2; ++i) {
    client_.Credit(stream, static_cast<size_t>(kStreamWindow));
    Move();
    EXPECT_EQ(take(), static_cast<size_t>(kStreamWindow));
  }
  EXPECT_EQ(received, 3 * static_cast<size_t>(kStreamWindow));
  server_.End(stream, {});
  client_.Credit(stream, static_cast<size_t>(kStreamWindow));  // the end is in a frame of data
  Move();
  ASSERT_FALSE(client_events_.empty());
  EXPECT_EQ(Kinds(client_events_).back(), Kind::kClosed);
}

TEST_F(H2StreamTest, WhatIsInFramesIsSaid) {
  const StreamId stream = client_.Request(kGet, false, Indexing::kAllowed);
  client_.Send(stream, "abc");
  (void)client_.TakeOutput();
  EXPECT_EQ(Kinds(client_.TakeEvents()), std::vector{Kind::kTaken});
}

// A table of HPACK keeps what it has, and what has one of its fields again is shorter.
TEST_F(H2StreamTest, AHeadWithASecretEntersNoTable) {
  Fields secret = kGet;
  secret.push_back({"x-api-key", "sk-0123456789abcdefghijklmnopqrstuv"});
  Move();
  const auto size_of = [&](Indexing indexing) {
    client_.Request(secret, true, indexing);
    const std::string out = client_.TakeOutput();
    server_.Receive(out, kNow);
    return out.size();
  };
  const size_t first = size_of(Indexing::kNever);
  EXPECT_EQ(size_of(Indexing::kNever), first);
  (void)size_of(Indexing::kAllowed);
  EXPECT_LT(size_of(Indexing::kAllowed), first / 2);
  const std::vector<Event> events = server_.TakeEvents();
  ASSERT_EQ(events.size(), 4u);
  for (const Event& event : events) EXPECT_EQ(event.request, events[0].request);
}

TEST_F(H2StreamTest, AConnectionThatGoesAwayEndsAfterItsStreams) {
  const StreamId stream = client_.Request(kGet, true, Indexing::kAllowed);
  Move();
  server_.GoAway();
  Move();
  EXPECT_TRUE(client_.going_away());
  EXPECT_EQ(client_.Request(kGet, true, Indexing::kAllowed), 0);
  EXPECT_FALSE(server_.over());
  server_.Respond(stream, kOk, true);
  Move();
  EXPECT_TRUE(server_.over());
  EXPECT_TRUE(client_.over());
}

TEST_F(H2StreamTest, AShortResponseHasNoEnd) {
  client_.Request(kGet, true, Indexing::kAllowed);
  (void)client_.TakeOutput();
  client_.Receive(raw::Frame(raw::kSettings, 0, 0, "") +
                      raw::Headers(1, {{":status", "200"}, {"content-length", "5"}}, false) +
                      raw::Data(1, "abc", true),
                  kNow);
  (void)client_.TakeOutput();
  for (const Event& event : client_.TakeEvents()) EXPECT_NE(event.kind, Kind::kEnd);
  EXPECT_EQ(client_.streams(), 0u);
}

TEST_F(H2StreamTest, NothingIsPushed) {
  constexpr uint8_t kAck = 1;  // of the settings that forbid it
  client_.Request(kGet, true, Indexing::kAllowed);
  (void)client_.TakeOutput();
  client_.Receive(
      raw::Frame(raw::kSettings, 0, 0, "") + raw::Frame(raw::kSettings, kAck, 0, "") +
          raw::Frame(raw::kPushPromise, raw::kEndHeaders, 1, raw::Number(2) + raw::Block(kGet)),
      kNow);
  while (!client_.TakeOutput().empty()) {
  }
  EXPECT_NE(client_.violation(), "");
}

}  // namespace
}  // namespace odyssey::egress::h2
