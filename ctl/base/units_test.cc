#include "ctl/base/units.h"

#include <gtest/gtest.h>

namespace odyssey::ctl {
namespace {

TEST(UnitsTest, ReadsSizes) {
  EXPECT_EQ(*ParseSize("4096"), 4096u);
  EXPECT_EQ(*ParseSize("64k"), 64u << 10);
  EXPECT_EQ(*ParseSize("512m"), 512u << 20);
  EXPECT_EQ(*ParseSize("512MiB"), 512u << 20);
  EXPECT_EQ(*ParseSize("2GB"), uint64_t{2} << 30);
  EXPECT_EQ(*ParseSize("16777215t"), 16777215ull << 40);
}

TEST(UnitsTest, RefusesWhatIsNoSize) {
  for (const char* text : {"", "0", "m", "-1", "1.5g", "512x", "512mm", "512ib", "1 g", "16777216t",
                           "18446744073709551616", "0x10"}) {
    EXPECT_EQ(ParseSize(text).status().code(), Code::kInvalidArgument) << text;
  }
}

TEST(UnitsTest, ErrorNamesValueAndWhatIsAllowed) {
  EXPECT_EQ(ParseSize("lots").status().message(),
            "\"lots\": expected a size of at least 1, such as 65536, 64k, 512m, 2g");
}

TEST(UnitsTest, ReadsDurations) {
  EXPECT_EQ(*ParseDurationMs("500ms"), 500u);
  EXPECT_EQ(*ParseDurationMs("60s"), 60'000u);
  EXPECT_EQ(*ParseDurationMs("60"), 60'000u);
  EXPECT_EQ(*ParseDurationMs("5m"), 300'000u);
  EXPECT_EQ(*ParseDurationMs("2h"), 7'200'000u);
  EXPECT_EQ(*ParseDurationMs("4294967295ms"), 4294967295u);
}

TEST(UnitsTest, RefusesWhatIsNoDuration) {
  for (const char* text :
       {"", "0", "0s", "s", "-5s", "1.5s", "5d", "60 s", "4294967296ms", "1194h"}) {
    EXPECT_EQ(ParseDurationMs(text).status().code(), Code::kInvalidArgument) << text;
  }
}

TEST(UnitsTest, ReadsAges) {
  EXPECT_EQ(*ParseAgeS("90"), 90u);
  EXPECT_EQ(*ParseAgeS("5m"), 300u);
  EXPECT_EQ(*ParseAgeS("30d"), uint64_t{30} * 86'400);
  for (const char* text : {"", "0", "0d", "d", "1.5d", "500ms", "36501d", "1y"}) {
    EXPECT_EQ(ParseAgeS(text).status().code(), Code::kInvalidArgument) << text;
  }
}

TEST(UnitsTest, ReadsCores) {
  EXPECT_EQ(*ParseCpus("2"), 2000u);
  EXPECT_EQ(*ParseCpus("1.5"), 1500u);
  EXPECT_EQ(*ParseCpus("0.25"), 250u);
  EXPECT_EQ(*ParseCpus("0.001"), 1u);
  EXPECT_EQ(*ParseCpus("1024"), 1'024'000u);
}

TEST(UnitsTest, RefusesWhatIsNoCoreCount) {
  for (const char* text :
       {"", "0", "0.000", ".5", "1.", "1.5.5", "1.2345", "-1", "1025", "1024.001", "2c"}) {
    EXPECT_EQ(ParseCpus(text).status().code(), Code::kInvalidArgument) << text;
  }
}

TEST(UnitsTest, KeepsNumbersInTheirRange) {
  EXPECT_EQ(*ParseNumber("1", 1, 10), 1u);
  EXPECT_EQ(*ParseNumber("10", 1, 10), 10u);
  for (const char* text : {"", "0", "11", "+3", "3x", "99999999999999999999"}) {
    EXPECT_EQ(ParseNumber(text, 1, 10).status().message(),
              "\"" + std::string(text) + "\": expected a number from 1 to 10");
  }
}

TEST(UnitsTest, WritesForPeople) {
  EXPECT_EQ(FormatSize(17), "17 B");
  EXPECT_EQ(FormatSize(512u << 20), "512 MiB");
  EXPECT_EQ(FormatSize(uint64_t{3} << 29), "1.5 GiB");
  EXPECT_EQ(FormatDurationMs(340), "340 ms");
  EXPECT_EQ(FormatDurationMs(2100), "2.1 s");
  EXPECT_EQ(FormatDurationMs(185'000), "3 m 05 s");
}

}  // namespace
}  // namespace odyssey::ctl
