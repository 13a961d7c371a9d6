#include "supervisor/egress/broker/dialer.h"

#include <gtest/gtest.h>

namespace odyssey::egress {
namespace {

TEST(ParseProxyAddressTest, AnAddressWithItsPort) {
  EXPECT_EQ(ParseProxyAddress("192.0.2.1:3128")->port(), 3128);
  EXPECT_TRUE(ParseProxyAddress("[2001:db8::1]:80")->address().is_v6());
  EXPECT_EQ(ParseProxyAddress("127.0.0.1:3128")->address().to_string(), "127.0.0.1");
  for (const char* bad : {"", "proxy.example:3128", "192.0.2.1", "192.0.2.1:0",
                          "http://192.0.2.1:80", "0x7f.1:80", "192.0.2.1:99999"}) {
    EXPECT_FALSE(ParseProxyAddress(bad).ok()) << bad;
  }
}

TEST(ProxyAuthorizationTest, IsBasic) {
  EXPECT_EQ(*ProxyAuthorization("user:password\n"), "Basic dXNlcjpwYXNzd29yZA==");
  for (const char* bad : {"", "user", "a:b\nc", "a:b\x01"}) {
    EXPECT_FALSE(ProxyAuthorization(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace odyssey::egress
