#include "supervisor/egress/websocket/frame_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "supervisor/egress/websocket/frame_writer.h"

namespace odyssey::egress::websocket {
namespace {

using Kind = Part::Kind;

constexpr uint64_t kLimit = 100000;
constexpr uint8_t kFin = 0x80;

std::string Bytes(std::initializer_list<int> bytes) {
  std::string out;
  for (const int byte : bytes) out += static_cast<char>(byte);
  return out;
}

// A server's frame with a short payload.
std::string Frame(int first, const std::string& payload) {
  return Bytes({first, static_cast<int>(payload.size())}) + payload;
}

struct Read {
  std::vector<std::string> messages;  // "text:", "binary:", "close:", "ping:" or "pong:" in front
  int code = 0;                       // of an error
  std::string rest;                   // that is no whole frame
  friend bool operator==(const Read&, const Read&) = default;
};

std::string NameOf(Opcode opcode) {
  switch (opcode) {
    case Opcode::kText:
      return "text:";
    case Opcode::kBinary:
      return "binary:";
    case Opcode::kClose:
      return "close:";
    case Opcode::kPing:
      return "ping:";
    case Opcode::kPong:
      return "pong:";
    case Opcode::kContinuation:
      break;
  }
  return "none:";
}

// As a caller does that gets `step` bytes at a time.
Read ReadAll(const std::string& bytes, Sender sender, size_t step, uint64_t limit = kLimit) {
  FrameReader reader(sender, limit);
  Read out;
  std::string message;
  for (size_t at = 0; at < bytes.size() && out.code == 0; at += step) {
    out.rest += bytes.substr(at, step);
    for (;;) {
      const Part part = reader.Read(out.rest);
      out.rest.erase(0, part.taken);
      if (part.kind == Kind::kMore) break;
      if (part.kind == Kind::kError) {
        EXPECT_FALSE(part.error.empty());
        out.code = static_cast<int>(part.code);
        break;
      }
      if (part.kind == Kind::kControl) {
        out.messages.push_back(NameOf(part.opcode) + part.payload);
        continue;
      }
      message += part.payload;
      if (part.last) out.messages.push_back(NameOf(part.opcode) + message);
      if (part.last) message.clear();
    }
  }
  return out;
}

// However it is cut.
Read ReadFrom(const std::string& bytes, Sender sender = Sender::kServer, uint64_t limit = kLimit) {
  const Read whole = ReadAll(bytes, sender, bytes.size(), limit);
  for (const size_t step : {size_t{1}, size_t{2}, size_t{3}, size_t{7}}) {
    const Read pieces = ReadAll(bytes, sender, step, limit);
    EXPECT_EQ(pieces.messages, whole.messages);
    EXPECT_EQ(pieces.code, whole.code);
  }
  return whole;
}

TEST(FrameReaderTest, MessagesAndControlFrames) {
  const std::string bytes = Frame(kFin | 1, "hello") + Frame(kFin | 2, std::string("\0\xff", 2)) +
                            Frame(kFin | 9, "p") + Frame(kFin | 10, "") + Frame(kFin | 1, "") +
                            Frame(kFin | 8, Bytes({0x03, 0xe8}) + "bye");
  const std::vector<std::string> expected = {"text:hello", "binary:" + std::string("\0\xff", 2),
                                             "ping:p",     "pong:",
                                             "text:",      "close:" + Bytes({0x03, 0xe8}) + "bye"};
  EXPECT_EQ(ReadFrom(bytes).messages, expected);
  EXPECT_EQ(ReadFrom(bytes).code, 0);
}

TEST(FrameReaderTest, TheExampleOfTheProtocolIsUnmasked) {
  // RFC 6455 section 5.7.
  const std::string hello =
      Bytes({0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58});
  EXPECT_EQ(ReadFrom(hello, Sender::kClient).messages, std::vector<std::string>{"text:Hello"});
  EXPECT_EQ(ReadFrom(hello, Sender::kServer).code, 1002);
  EXPECT_EQ(ReadFrom(Frame(kFin | 1, "Hello"), Sender::kClient).code, 1002);
}

TEST(FrameReaderTest, FragmentsAreOneMessage) {
  const std::string bytes = Frame(1, "a") + Frame(0, "") + Frame(kFin | 9, "between") +
                            Frame(0, "b") + Frame(kFin, "c") + Frame(2, "") + Frame(kFin, "");
  const std::vector<std::string> expected = {"ping:between", "text:abc", "binary:"};
  EXPECT_EQ(ReadFrom(bytes).messages, expected);
}

TEST(FrameReaderTest, LengthsAreTheShortest) {
  const std::string long16(126, 'x'), long64(65536, 'x');
  EXPECT_EQ(ReadFrom(Bytes({kFin | 2, 126, 0, 126}) + long16).messages.size(), 1U);
  EXPECT_EQ(ReadFrom(Bytes({kFin | 2, 127, 0, 0, 0, 0, 0, 1, 0, 0}) + long64).messages.size(), 1U);
  EXPECT_EQ(ReadFrom(Bytes({kFin | 2, 126, 0, 125}) + long16).code, 1002);
  EXPECT_EQ(ReadFrom(Bytes({kFin | 2, 127, 0, 0, 0, 0, 0, 0, 0xff, 0xff})).code, 1002);
  EXPECT_EQ(ReadFrom(Bytes({kFin | 2, 127, 0x80, 0, 0, 0, 0, 1, 0, 0})).code, 1002);
}

TEST(FrameReaderTest, WhatIsNoFrameIsAnError) {
  const std::string text126 = Bytes({0, 126}) + std::string(126, 'x');
  const struct {
    const char* what;
    std::string bytes;
    int code;
  } kCases[] = {
      {"a reserved bit", Frame(kFin | 0x40 | 1, "x"), 1002},
      {"another one", Frame(kFin | 0x20 | 1, "x"), 1002},
      {"the third one", Frame(kFin | 0x10 | 9, "x"), 1002},
      {"opcode 3", Frame(kFin | 3, "x"), 1002},
      {"opcode 7", Frame(kFin | 7, "x"), 1002},
      {"opcode 11", Frame(kFin | 11, ""), 1002},
      {"opcode 15", Frame(kFin | 15, ""), 1002},
      {"a ping of 126 bytes", Bytes({kFin | 9}) + Bytes({126}) + text126, 1002},
      {"a ping in fragments", Frame(9, "x"), 1002},
      {"a close in fragments", Frame(8, ""), 1002},
      {"a continuation of nothing", Frame(kFin, "x"), 1002},
      {"a continuation after the end", Frame(kFin | 1, "x") + Frame(0, "x"), 1002},
      {"a text within a text", Frame(1, "x") + Frame(kFin | 1, "x"), 1002},
      {"a binary within a text", Frame(1, "x") + Frame(2, "x"), 1002},
      {"a close of one byte", Frame(kFin | 8, "x"), 1002},
      {"a close with 999", Frame(kFin | 8, Bytes({0x03, 0xe7})), 1002},
      {"a close with 1004", Frame(kFin | 8, Bytes({0x03, 0xec})), 1002},
      {"a close with 1005", Frame(kFin | 8, Bytes({0x03, 0xed})), 1002},
      {"a close with 1006", Frame(kFin | 8, Bytes({0x03, 0xee})), 1002},
      {"a close with 1015", Frame(kFin | 8, Bytes({0x03, 0xf7})), 1002},
      {"a close with 2999", Frame(kFin | 8, Bytes({0x0b, 0xb7})), 1002},
      {"a close with 5000", Frame(kFin | 8, Bytes({0x13, 0x88})), 1002},
      {"a close whose reason is no text", Frame(kFin | 8, Bytes({0x03, 0xe8, 0xff})), 1007},
      {"a text that is no UTF-8", Frame(kFin | 1, "\xff"), 1007},
      {"a text with a surrogate", Frame(kFin | 1, "\xed\xa0\x80"), 1007},
      {"a text that ends within a character", Frame(kFin | 1, "\xe2\x82"), 1007},
      {"fragments that do", Frame(1, "\xe2\x82") + Frame(kFin, ""), 1007},
      {"fragments that are no UTF-8", Frame(1, "\xe2\x82") + Frame(0, "x"), 1007},
  };
  for (const auto& c : kCases) EXPECT_EQ(ReadFrom(c.bytes).code, c.code) << c.what;
}

TEST(FrameReaderTest, CodesThatMayBeSent) {
  for (const int code : {1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014,
                         3000, 3999, 4000, 4999}) {
    EXPECT_EQ(ReadFrom(Frame(kFin | 8, Bytes({code >> 8, code & 0xff}))).code, 0) << code;
  }
  EXPECT_EQ(ReadFrom(Frame(kFin | 8, "")).code, 0);
}

TEST(FrameReaderTest, ACharacterMayBeInTwoFragments) {
  const std::string bytes =
      Frame(1, "\xe2") + Frame(kFin | 9, "\xff") + Frame(0, "\x82") + Frame(kFin, "\xac");
  const std::vector<std::string> expected = {"ping:\xff", "text:\xe2\x82\xac"};
  EXPECT_EQ(ReadFrom(bytes).messages, expected);
}

TEST(FrameReaderTest, ATextThatIsNoneIsAnErrorBeforeItsEnd) {
  EXPECT_EQ(ReadFrom(Bytes({kFin | 1, 100, 'x', 0xff})).code, 1007);
}

TEST(FrameReaderTest, AMessageThatIsTooLongIsNotRead) {
  EXPECT_EQ(ReadFrom(Frame(kFin | 2, "12345"), Sender::kServer, 5).code, 0);
  EXPECT_EQ(ReadFrom(Bytes({kFin | 2, 6}), Sender::kServer, 5).code, 1009);
  EXPECT_EQ(ReadFrom(Frame(2, "123") + Bytes({kFin, 3}), Sender::kServer, 5).code, 1009);
  EXPECT_EQ(ReadFrom(Frame(kFin | 2, "123") + Frame(kFin | 2, "123"), Sender::kServer, 5).code, 0);
  EXPECT_EQ(ReadFrom(Bytes({kFin | 2, 127, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})).code,
            1009);
}

TEST(FrameReaderTest, NothingIsReadAfterAnError) {
  FrameReader reader(Sender::kServer, kLimit);
  EXPECT_EQ(reader.Read(Frame(kFin | 3, "")).kind, Kind::kError);
  const Part part = reader.Read(Frame(kFin | 1, "x"));
  EXPECT_EQ(part.kind, Kind::kError);
  EXPECT_EQ(part.taken, 0U);
}

// ── written ──

const Mask kMask = {0x37, 0xfa, 0x21, 0x3d};

std::string Write(Sender sender, const std::vector<Part>& parts) {
  FrameWriter writer(sender);
  std::string out;
  for (const Part& part : parts) writer.Write(part, kMask, &out);
  return out;
}

Part Piece(Opcode opcode, std::string payload, bool last) {
  return {.kind = Kind::kData, .opcode = opcode, .last = last, .payload = std::move(payload)};
}

TEST(FrameWriterTest, AClientsFrameIsMasked) {
  EXPECT_EQ(Write(Sender::kClient, {Piece(Opcode::kText, "Hello", true)}),
            Bytes({0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58}));
  EXPECT_EQ(Write(Sender::kServer, {Piece(Opcode::kText, "Hello", true)}),
            Frame(kFin | 1, "Hello"));
}

TEST(FrameWriterTest, PiecesAreFragments) {
  const Part ping = {.kind = Kind::kControl, .opcode = Opcode::kPing, .payload = "p"};
  EXPECT_EQ(
      Write(Sender::kServer, {Piece(Opcode::kText, "", false), Piece(Opcode::kText, "a", false),
                              ping, Piece(Opcode::kText, "", false),
                              Piece(Opcode::kText, "b", true), Piece(Opcode::kBinary, "", true)}),
      Frame(1, "a") + Frame(kFin | 9, "p") + Frame(kFin, "b") + Frame(kFin | 2, ""));
}

TEST(FrameWriterTest, WhatIsWrittenIsReadTheSame) {
  for (const size_t size : {0, 1, 125, 126, 65535, 65536}) {
    for (const Sender sender : {Sender::kClient, Sender::kServer}) {
      const std::string text(size, 'x');
      const Read read = ReadAll(Write(sender, {Piece(Opcode::kBinary, text, true)}), sender, 70000);
      EXPECT_EQ(read.messages, std::vector<std::string>{"binary:" + text});
      EXPECT_EQ(read.rest, "");
    }
  }
}

TEST(FrameWriterTest, AClose) {
  EXPECT_EQ(ClosePayload(CloseCode::kPolicy, "why"), Bytes({0x03, 0xf0}) + "why");
  EXPECT_EQ(ClosePayload(CloseCode::kPolicy, std::string(200, 'x')).size(), kMaxControlBytes);
}

}  // namespace
}  // namespace odyssey::egress::websocket
