#include "supervisor/egress/http/body.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

namespace odyssey::egress::http {
namespace {

using State = BodyReader::State;

constexpr Framing kChunked = {.kind = FramingKind::kChunked};
constexpr Framing kUntilClose = {.kind = FramingKind::kUntilClose};

Framing Length(uint64_t length) { return {.kind = FramingKind::kLength, .length = length}; }

// The state at the end, the payload, and the bytes that were taken.
std::tuple<State, std::string, size_t> Read(const Framing& framing, std::string_view bytes,
                                            size_t piece) {
  BodyReader reader(framing);
  std::string payload;
  size_t at = 0;
  for (;;) {
    const BodyReader::Step step = reader.Read(bytes.substr(at, piece));
    at += step.taken;
    payload += step.payload;
    const bool all = at == bytes.size() && step.state == State::kMore;
    if (all || step.state == State::kEnd || step.state == State::kError) {
      return {step.state, payload, at};
    }
  }
}

TEST(BodyTest, PiecesGiveWhatTheWholeGives) {
  const std::string chunks = "5;x=y\r\nhello\r\n1\r\n,\r\nA\r\n 0123\r\n789\r\n0\r\nT: 1\r\n\r\n";
  for (size_t piece = 1; piece <= chunks.size() + 4; ++piece) {
    EXPECT_EQ(Read(kChunked, chunks + "GET ", piece),
              std::make_tuple(State::kEnd, "hello, 0123\r\n789", chunks.size()))
        << piece;
    EXPECT_EQ(Read(Length(5), "helloGET ", piece),
              std::make_tuple(State::kEnd, "hello", size_t{5}));
    EXPECT_EQ(Read(kUntilClose, "hello", piece), std::make_tuple(State::kMore, "hello", size_t{5}));
    EXPECT_EQ(Read({}, "GET ", piece), std::make_tuple(State::kEnd, "", size_t{0}));
    EXPECT_EQ(Read(Length(0), "GET ", piece), std::make_tuple(State::kEnd, "", size_t{0}));
    EXPECT_EQ(Read(Length(6), "hello", piece), std::make_tuple(State::kMore, "hello", size_t{5}));
  }
}

TEST(BodyTest, ABodyThatIsCutOffIsNotWhole) {
  const std::string chunks = "5\r\nhello\r\n0\r\n\r\n";
  for (size_t size = 0; size <= chunks.size(); ++size) {
    BodyReader reader(kChunked);
    std::string_view rest = std::string_view(chunks).substr(0, size);
    while (!rest.empty()) rest.remove_prefix(reader.Read(rest).taken);
    EXPECT_EQ(reader.IsWholeAtClose(), size == chunks.size()) << size;
  }
  BodyReader length(Length(2));
  EXPECT_EQ(length.Read("a").state, State::kPayload);
  EXPECT_FALSE(length.IsWholeAtClose());
  EXPECT_EQ(length.Read("b").state, State::kPayload);
  EXPECT_TRUE(length.IsWholeAtClose());
  EXPECT_TRUE(BodyReader(kUntilClose).IsWholeAtClose());
  EXPECT_TRUE(BodyReader(Framing{}).IsWholeAtClose());
}

TEST(BodyTest, AnErrorStays) {
  BodyReader reader(kChunked);
  EXPECT_EQ(reader.Read("5\n").state, State::kError);
  const BodyReader::Step again = reader.Read("\r\nhello");
  EXPECT_EQ(again.state, State::kError);
  EXPECT_EQ(again.taken, 0U);
  EXPECT_FALSE(again.error.empty());
  EXPECT_FALSE(reader.IsWholeAtClose());
}

TEST(BodyTest, IsFramedAnew) {
  std::string out;
  BodyWriter chunks(kChunked);
  EXPECT_TRUE(chunks.Write("hello, world 123", &out));
  EXPECT_TRUE(chunks.Write("", &out)) << "which is no last chunk";
  EXPECT_TRUE(chunks.Write("x", &out));
  EXPECT_TRUE(chunks.End(&out));
  EXPECT_EQ(out, "10\r\nhello, world 123\r\n1\r\nx\r\n0\r\n\r\n");

  out.clear();
  BodyWriter close(kUntilClose);
  EXPECT_TRUE(close.Write("hello", &out));
  EXPECT_TRUE(close.End(&out));
  EXPECT_EQ(out, "hello");
}

TEST(BodyTest, NoMoreAndNoLessThanItsLengthIsWritten) {
  std::string out;
  BodyWriter length(Length(5));
  EXPECT_TRUE(length.Write("hell", &out));
  EXPECT_FALSE(length.End(&out));
  EXPECT_FALSE(length.Write("ogx", &out));
  EXPECT_TRUE(length.Write("o", &out));
  EXPECT_TRUE(length.End(&out));
  EXPECT_EQ(out, "hello");
  BodyWriter none((Framing()));
  EXPECT_FALSE(none.Write("a", &out));
  EXPECT_TRUE(none.End(&out));
  EXPECT_EQ(out, "hello");
}

}  // namespace
}  // namespace odyssey::egress::http
