#include "agentd/job/output_ring.h"

#include <gtest/gtest.h>

namespace odyssey::job {
namespace {

using Piece = OutputRing::Piece;

TEST(OutputRingTest, GivesEachByteOnceByItsOffset) {
  OutputRing ring(100);
  ring.Push("hello ");
  ring.Push("world");
  EXPECT_EQ(ring.Read(0, 100), (Piece{0, "hello world"}));
  EXPECT_EQ(ring.Read(0, 4), (Piece{0, "hell"}));
  EXPECT_EQ(ring.Read(4, 100), (Piece{4, "o world"}));
  EXPECT_EQ(ring.Read(11, 100), (Piece{11, ""}));
  EXPECT_EQ(ring.Read(99, 100), (Piece{11, ""})) << "beyond the end is at it";
}

TEST(OutputRingTest, ForgetsTheOldestAndSaysSoByTheOffset) {
  OutputRing ring(4);
  ring.Push("abcdefg");
  EXPECT_EQ(ring.Read(0, 100), (Piece{0, "abcdefg"})) << "at most twice its capacity";
  ring.Push("h");
  EXPECT_EQ(ring.begin(), 4u);
  EXPECT_EQ(ring.end(), 8u);
  EXPECT_EQ(ring.Read(0, 100), (Piece{4, "efgh"}));
  EXPECT_EQ(ring.Read(6, 100), (Piece{6, "gh"}));
}

TEST(OutputRingTest, CutsNoCharacter) {
  OutputRing ring(3);
  ring.Push("a\xC3\xA9\xC3\xA9z");  // aééz: 6 bytes
  EXPECT_EQ(ring.Read(0, 100), (Piece{3, "\xC3\xA9z"}));
  OutputRing whole(100);
  whole.Push("a\xC3\xA9z");
  EXPECT_EQ(whole.Read(0, 2), (Piece{0, "a"}));
  EXPECT_EQ(whole.Read(2, 100), (Piece{3, "z"})) << "an offset within a character";
}

}  // namespace
}  // namespace odyssey::job
