#include "supervisor/egress/protocol/h2_preface.h"

#include <gtest/gtest.h>

#include <string>

namespace odyssey::egress::protocol {
namespace {

TEST(H2PrefaceTest, EachPrefixMayBecomeOne) {
  for (size_t size = 0; size < kH2Preface.size(); ++size) {
    EXPECT_EQ(ReadH2Preface(kH2Preface.substr(0, size)), H2PrefaceState::kMore) << size;
  }
  EXPECT_EQ(ReadH2Preface(kH2Preface), H2PrefaceState::kYes);
  EXPECT_EQ(ReadH2Preface(std::string(kH2Preface) + "more"), H2PrefaceState::kYes);
}

TEST(H2PrefaceTest, EachOtherByteMakesItNone) {
  for (size_t at = 0; at < kH2Preface.size(); ++at) {
    std::string changed(kH2Preface.substr(0, at + 1));
    changed[at] = static_cast<char>(changed[at] ^ 0x20);
    EXPECT_EQ(ReadH2Preface(changed), H2PrefaceState::kNo) << at;
  }
  EXPECT_EQ(ReadH2Preface("PRI / HTTP/2.0"), H2PrefaceState::kNo);
}

}  // namespace
}  // namespace odyssey::egress::protocol
