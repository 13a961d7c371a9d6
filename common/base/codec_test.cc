#include "common/base/codec.h"

#include <gtest/gtest.h>

namespace odyssey {
namespace {

enum class Colour : uint8_t { kRed, kGreen };

std::string Everything() {
  Writer w;
  w.U8(200);
  w.U32(0x01020304);
  w.U64(~uint64_t{0});
  w.Bool(true);
  w.U8(1);
  w.String(std::string("a\0b", 3));
  w.Strings({"", "x"});
  return w.Take();
}

void ReadEverything(Reader* r) {
  (void)r->U8();
  (void)r->U32();
  (void)r->U64();
  (void)r->Bool();
  (void)r->Enum(Colour::kGreen);
  (void)r->String(100);
  (void)r->Strings(10, 100);
}

TEST(CodecTest, ReadsBackWhatWasWritten) {
  const std::string bytes = Everything();
  Reader r(bytes);
  EXPECT_EQ(r.U8(), 200);
  EXPECT_EQ(r.U32(), 0x01020304u);
  EXPECT_EQ(r.U64(), ~uint64_t{0});
  EXPECT_TRUE(r.Bool());
  EXPECT_EQ(r.Enum(Colour::kGreen), Colour::kGreen);
  EXPECT_EQ(r.String(3), std::string("a\0b", 3));
  EXPECT_EQ(r.Strings(2, 1), (std::vector<std::string>{"", "x"}));
  EXPECT_TRUE(r.Done());
}

TEST(CodecTest, LittleEndianOnTheWire) {
  Writer w;
  w.U32(1);
  EXPECT_EQ(w.bytes(), std::string("\1\0\0\0", 4));
}

TEST(CodecTest, EveryTruncationFails) {
  const std::string bytes = Everything();
  for (size_t length = 0; length < bytes.size(); ++length) {
    Reader r(std::string_view(bytes).substr(0, length));
    ReadEverything(&r);
    EXPECT_FALSE(r.Done()) << length;
  }
}

TEST(CodecTest, TrailingBytesAreMalformed) {
  const std::string bytes = Everything() + "x";
  Reader r(bytes);
  ReadEverything(&r);
  EXPECT_FALSE(r.failed());
  EXPECT_FALSE(r.Done());
}

TEST(CodecTest, BoundsOfTheCallerHold) {
  Writer w;
  w.String("four");
  EXPECT_EQ(Reader(w.bytes()).String(4), "four");
  Reader too_long(w.bytes());
  EXPECT_EQ(too_long.String(3), "");
  EXPECT_TRUE(too_long.failed());

  Writer list;
  list.Strings({"a", "b", "c"});
  Reader too_many(list.bytes());
  EXPECT_TRUE(too_many.Strings(2, 10).empty());
  EXPECT_TRUE(too_many.failed());
}

TEST(CodecTest, ALengthBeyondTheInputAllocatesNothing) {
  Writer w;
  w.U32(0xffffffff);
  Reader string(w.bytes());
  EXPECT_EQ(string.String(0xffffffff), "");
  EXPECT_TRUE(string.failed());
  Reader list(w.bytes());
  EXPECT_LE(list.Strings(0xffffffff, 10).size(), 1u);
  EXPECT_TRUE(list.failed());
}

TEST(CodecTest, BooleansAndEnumeratorsOutOfRangeAreMalformed) {
  Reader boolean("\2");
  EXPECT_FALSE(boolean.Bool() && !boolean.failed());
  EXPECT_TRUE(boolean.failed());
  Reader colour("\2");
  EXPECT_EQ(colour.Enum(Colour::kGreen), Colour::kRed);
  EXPECT_TRUE(colour.failed());
}

TEST(CodecTest, NothingIsReadAfterTheFirstBadByte) {
  Reader r(std::string_view("\2\1", 2));
  (void)r.Bool();
  EXPECT_EQ(r.U8(), 0);
  EXPECT_FALSE(r.Done());
}

}  // namespace
}  // namespace odyssey
