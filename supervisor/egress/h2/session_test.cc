#include "supervisor/egress/h2/session.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "supervisor/egress/h2/raw_frames.h"

namespace odyssey::egress::h2 {
namespace {

using http::Fields;
using Kind = Event::Kind;

const Session::Time kNow{std::chrono::seconds(1000)};

const Fields kGet = {
    {":method", "GET"}, {":scheme", "https"}, {":authority", "h.example"}, {":path", "/a"}};
const Fields kPost = {
    {":method", "POST"}, {":scheme", "https"}, {":authority", "h.example"}, {":path", "/a"}};

Fields With(Fields fields, const Fields& more) {
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

// The error code of the first frame of this type in `bytes`, whose payload ends with it or has it
// behind a stream's number; "": there is none.
std::string CodeIn(std::string_view bytes, raw::Type type) {
  while (bytes.size() >= 9) {
    const auto at = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
    const size_t size = at(0) << 16 | at(1) << 8 | at(2);
    if (at(3) == type) return std::to_string(at(9 + (type == raw::kGoAway ? 7 : 3)));
    bytes.remove_prefix(9 + size);
  }
  return "";
}

// Towards a client that is written by hand.
class H2SessionTest : public testing::Test {
 protected:
  H2SessionTest() { Receive(raw::Preface()); }

  void Receive(const std::string& bytes) {
    session_.Receive(bytes, kNow);
    for (Event& event : session_.TakeEvents()) events_.push_back(std::move(event));
    for (std::string out; !(out = session_.TakeOutput()).empty();) output_ += out;
    for (Event& event : session_.TakeEvents()) events_.push_back(std::move(event));
  }

  std::vector<Kind> Kinds() const {
    std::vector<Kind> out;
    for (const Event& event : events_) out.push_back(event.kind);
    return out;
  }
  std::string StreamCode() const { return CodeIn(output_, raw::kRstStream); }
  std::string GoAwayCode() const { return CodeIn(output_, raw::kGoAway); }

  Session session_{Side::kServer};
  std::vector<Event> events_;
  std::string output_;
};

TEST_F(H2SessionTest, ARequestWithABodyAndTrailers) {
  Receive(raw::Headers(1, kPost, false) + raw::Data(1, "ab") + raw::Data(1, "c") +
          raw::Headers(1, {{"x-t", "1"}}));
  ASSERT_EQ(Kinds(), (std::vector{Kind::kRequest, Kind::kData, Kind::kEnd}));
  EXPECT_EQ(events_[0].request.method, "POST");
  EXPECT_FALSE(events_[0].ended);
  EXPECT_EQ(events_[1].bytes, "abc");
  EXPECT_EQ(events_[2].trailers, (Fields{{"x-t", "1"}}));
}

TEST_F(H2SessionTest, HowBytesAreCutChangesNoEvent) {
  const std::string bytes = raw::Headers(1, kPost, false) + raw::Data(1, "abc", true);
  for (const char byte : bytes) Receive(std::string(1, byte));
  EXPECT_EQ(Kinds().front(), Kind::kRequest);
  EXPECT_EQ(Kinds().back(), Kind::kEnd);
}

TEST_F(H2SessionTest, AMalformedStreamIsResetAndOthersGoOn) {
  const std::vector<Fields> table = {
      With(kGet, {{"X-A", "1"}}),
      With(kGet, {{"connection", "close"}}),
      With(kGet, {{"upgrade", "h2c"}}),
      With(kGet, {{"te", "gzip"}}),
      With(kGet, {{"host", "other.example"}}),
      With(kGet, {{":path", "/b"}}),
      With(kGet, {{"x-a", "1"}, {":x", "/b"}}),
      With(kGet, {{"x-a", "1\r\nx-b: 2"}}),
      With(kGet, {{"x-a", " 1"}}),
      With(kGet, {{"x a", "1"}}),
      With(kGet, {{":protocol", "websocket"}}),
      {{":method", "GET"}},
      {},
  };
  uint32_t stream = 1;
  for (const Fields& fields : table) {
    output_.clear();
    events_.clear();
    Receive(raw::Headers(stream, fields));
    EXPECT_EQ(Kinds(), (std::vector{Kind::kRejected, Kind::kClosed})) << stream;
    EXPECT_EQ(StreamCode(), "1") << stream;
    EXPECT_EQ(GoAwayCode(), "");
    stream += 2;
  }
  events_.clear();
  Receive(raw::Headers(stream, kGet));
  EXPECT_EQ(Kinds(), std::vector{Kind::kRequest});
}

TEST_F(H2SessionTest, ConnectIsRefused) {
  Receive(raw::Headers(1, {{":method", "CONNECT"}, {":authority", "h.example:25"}}, false));
  ASSERT_EQ(Kinds(), std::vector{Kind::kUnreadable});
  EXPECT_EQ(events_[0].error.status, 405);
}

TEST_F(H2SessionTest, DataThatIsNoContentLengthIsMalformed) {
  const Fields three = With(kPost, {{"content-length", "3"}});
  for (const auto& [stream, data] : {std::pair(1u, "abcd"), std::pair(3u, "ab")}) {
    output_.clear();
    events_.clear();
    Receive(raw::Headers(stream, three, false) + raw::Data(stream, data, true));
    EXPECT_EQ(Kinds().back(), Kind::kClosed);
    EXPECT_EQ(StreamCode(), "1");
    for (const Event& event : events_) EXPECT_NE(event.kind, Kind::kEnd);
    EXPECT_EQ(Kinds()[Kinds().size() - 2], Kind::kRejected);
  }
}

TEST_F(H2SessionTest, AHeadHasABound) {
  // 40 KiB twice: more than one frame may have, and more than a head.
  const std::string block =
      raw::Block(With(kGet, {{"x-a", std::string(40000, 'a')}, {"x-b", std::string(40000, 'b')}}));
  std::string frames;
  for (size_t at = 0; at < block.size(); at += 16384) {
    const bool last = at + 16384 >= block.size();
    const uint8_t flags =
        static_cast<uint8_t>((at == 0 ? raw::kEndStream : 0) | (last ? raw::kEndHeaders : 0));
    frames += raw::Frame(at == 0 ? raw::kHeaders : raw::kContinuation, flags, 1,
                         std::string_view(block).substr(at, 16384));
  }
  Receive(frames);
  ASSERT_EQ(Kinds(), std::vector{Kind::kUnreadable});
  EXPECT_EQ(events_[0].error.status, 431);
  events_.clear();
  Receive(raw::Headers(3, With(kGet, Fields(101, {"x-a", "1"}))));
  ASSERT_EQ(Kinds(), std::vector{Kind::kUnreadable});
  EXPECT_EQ(events_[0].error.status, 431);
}

TEST_F(H2SessionTest, MoreStreamsThanMayBeOpenAreRefused) {
  for (uint32_t i = 0; i < kMaxStreams + 20; ++i) Receive(raw::Headers(2 * i + 1, kGet));
  EXPECT_EQ(session_.streams(), kMaxStreams);
  EXPECT_EQ(events_.size(), kMaxStreams);
  EXPECT_EQ(StreamCode(), "7");
}

struct Flood {
  const char* name;
  std::string frames;  // of which 3000 are too many
};

TEST(H2FloodTest, EndsTheConnectionWithEnhanceYourCalm) {
  const std::vector<Flood> table = {
      {"PING", raw::Frame(raw::kPing, 0, 0, "12345678")},
      {"PING that answers none", raw::Frame(raw::kPing, 1, 0, "12345678")},
      {"SETTINGS", raw::Frame(raw::kSettings, 0, 0, "")},
      {"PRIORITY", raw::Frame(raw::kPriority, 0, 9, std::string("\0\0\0\0\1", 5))},
      {"DATA without bytes", raw::Data(1, "")},
      {"WINDOW_UPDATE", raw::Frame(raw::kWindowUpdate, 0, 0, raw::Number(1))},
  };
  for (const Flood& flood : table) {
    Session session(Side::kServer);
    session.Receive(raw::Preface() + raw::Headers(1, kPost, false), kNow);
    std::string output;
    int sent = 0;
    for (; sent < 3000 && session.violation().empty(); ++sent) {
      session.Receive(flood.frames, kNow);
      for (std::string out; !(out = session.TakeOutput()).empty();) output += out;
    }
    EXPECT_LT(sent, 3000) << flood.name;
    EXPECT_EQ(CodeIn(output + session.TakeOutput(), raw::kGoAway), "11") << flood.name;
    EXPECT_TRUE(session.over()) << flood.name;
  }
}

TEST_F(H2SessionTest, RapidResetEndsTheConnection) {
  uint32_t stream = 1;
  for (; stream < 1000 && session_.violation().empty(); stream += 2) {
    Receive(raw::Headers(stream, kGet) + raw::Frame(raw::kRstStream, 0, stream, raw::Number(8)));
  }
  EXPECT_LT(stream, 1000u);
  EXPECT_EQ(GoAwayCode(), "11");
  EXPECT_TRUE(session_.over());
  EXPECT_EQ(events_.back().kind, Kind::kRejected);
  EXPECT_EQ(events_.back().stream, 0);
}

TEST_F(H2SessionTest, ResetsAreAllowedAgainAfterAWhile) {
  Session::Time now = kNow;
  for (uint32_t stream = 1; stream < 1800; stream += 2) {
    now += std::chrono::milliseconds(60);
    session_.Receive(
        raw::Headers(stream, kGet) + raw::Frame(raw::kRstStream, 0, stream, raw::Number(8)), now);
    while (!session_.TakeOutput().empty()) {
    }
  }
  EXPECT_EQ(session_.violation(), "");
}

TEST_F(H2SessionTest, MalformedStreamsAreCountedAsResets) {
  uint32_t stream = 1;
  for (; stream < 1000 && session_.violation().empty(); stream += 2) {
    Receive(raw::Headers(stream, With(kGet, {{"X-A", "1"}})));
  }
  EXPECT_LT(stream, 1000u);
  EXPECT_EQ(GoAwayCode(), "11");
}

TEST_F(H2SessionTest, AHeadOfEndlesslyManyFramesEndsTheConnection) {
  Receive(raw::Frame(raw::kHeaders, 0, 1, raw::Block(kGet)));
  for (int i = 0; i < 1000 && session_.violation().empty(); ++i) {
    Receive(raw::Frame(raw::kContinuation, 0, 1, ""));
  }
  EXPECT_NE(session_.violation(), "");
  EXPECT_NE(GoAwayCode(), "");
  EXPECT_TRUE(session_.over());
}

TEST_F(H2SessionTest, WhatBreaksTheConnectionEndsIt) {
  Receive("no frame at all, but some text");
  EXPECT_NE(session_.violation(), "");
  EXPECT_TRUE(session_.over());
}

TEST(H2PrefaceTest, AnotherProtocolIsNoHttp2) {
  Session session(Side::kServer);
  session.Receive("GET / HTTP/1.1\r\nHost: h.example\r\n\r\n", kNow);
  while (!session.TakeOutput().empty()) {
  }
  EXPECT_NE(session.violation(), "");
  EXPECT_TRUE(session.over());
}

TEST_F(H2SessionTest, DataBeyondTheWindowEndsTheConnectionOrStream) {
  Receive(raw::Frame(raw::kSettings, 1, 0, "") + raw::Headers(1, kPost, false));
  const std::string frame = raw::Data(1, std::string(16384, 'x'));
  for (int i = 0; i < kStreamWindow / 16384; ++i) Receive(frame);
  EXPECT_EQ(StreamCode(), "");
  Receive(frame);
  EXPECT_EQ(StreamCode() + GoAwayCode(), "3");
}

TEST_F(H2SessionTest, CreditLetsThePeerSendOn) {
  Receive(raw::Frame(raw::kSettings, 1, 0, "") + raw::Headers(1, kPost, false));
  const std::string frame = raw::Data(1, std::string(16384, 'x'));
  for (int i = 0; i < 3 * kConnectionWindow / 16384; ++i) {
    Receive(frame);
    session_.Credit(1, 16384);
    Receive("");
  }
  EXPECT_EQ(StreamCode() + GoAwayCode(), "");
}

TEST_F(H2SessionTest, AStreamThatIsClosedGivesBackWhatItHeld) {
  Receive(raw::Frame(raw::kSettings, 1, 0, ""));
  for (uint32_t stream = 1; stream < 101; stream += 2) {
    Receive(raw::Headers(stream, kPost, false));
    for (int i = 0; i < kStreamWindow / 16384; ++i) {
      Receive(raw::Data(stream, std::string(16384, 'x')));
    }
    Receive(raw::Frame(raw::kRstStream, 0, stream, raw::Number(8)));
  }
  EXPECT_EQ(GoAwayCode(), "");
}

}  // namespace
}  // namespace odyssey::egress::h2
