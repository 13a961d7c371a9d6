#include "agentd/session_file/file_time.h"

#include <gtest/gtest.h>

namespace odyssey::session_file {
namespace {

TEST(FileTimeTest, EveryOffsetAndFractionBecomesOneForm) {
  for (const auto& [text, normal] :
       {std::pair<const char*, const char*>{"2026-03-24T09:30:00Z", "2026-03-24T09:30:00.000Z"},
        {"2026-03-24T09:30:00.1Z", "2026-03-24T09:30:00.100Z"},
        {"2026-03-24t09:30:00.123456789z", "2026-03-24T09:30:00.123Z"},
        {"2026-03-24T09:30:00.25+02:00", "2026-03-24T07:30:00.250Z"},
        {"2026-01-01T00:30:00-01:30", "2026-01-01T02:00:00.000Z"},
        {"2026-01-01T00:30:00+01:00", "2025-12-31T23:30:00.000Z"},
        {"2024-02-29T23:59:60Z", "2024-03-01T00:00:00.000Z"}}) {
    const Result<std::string> out = NormalTime(text);
    ASSERT_TRUE(out.ok()) << text;
    EXPECT_EQ(*out, normal);
  }
}

TEST(FileTimeTest, WhatIsNoTimeIsRefused) {
  for (const char* text :
       {"", "now", "2026-03-24", "2026-03-24 09:30:00Z", "2026-03-24T09:30:00", "2026-03-24T09:30Z",
        "2026-13-24T09:30:00Z", "2025-02-29T09:30:00Z", "2026-03-24T24:00:00Z",
        "2026-03-24T09:60:00Z", "2026-03-24T09:30:00.Z", "2026-03-24T09:30:00Z ",
        "2026-03-24T09:30:00+2:00", "2026-03-24T09:30:00+24:00", "1969-12-31T23:59:59Z",
        "9999-01-01T00:00:00Z", "-026-03-24T09:30:00Z"}) {
    EXPECT_EQ(NormalTime(text).status().code(), Code::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace odyssey::session_file
