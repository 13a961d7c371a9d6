#include "supervisor/egress/http/authority.h"

#include <gtest/gtest.h>

#include <string>

namespace odyssey::egress::http {
namespace {

// "HOST|PORT", with the host in its one spelling; "never HOST|PORT"; "none".
std::string Read(std::string_view text) {
  const auto authority = ParseAuthority(text);
  if (!authority) return "none";
  return (authority->never.empty() ? "" : "never ") + authority->host + "|" +
         std::to_string(authority->port.value_or(0));
}

TEST(AuthorityTest, HostsHaveOneSpelling) {
  EXPECT_EQ(Read("h.example"), "h.example|0");
  EXPECT_EQ(Read("WWW.H.example.:443"), "www.h.example|443");
  EXPECT_EQ(Read("xn--bcher-kva.example:80"), "xn--bcher-kva.example|80");
  EXPECT_EQ(Read("8.8.8.8:53"), "8.8.8.8|53");
  EXPECT_EQ(Read("[2606:4700::1]:443"), "2606:4700::1|443");
  EXPECT_EQ(Read("[2606:4700:0::1]"), "2606:4700::1|0");
  EXPECT_EQ(ParseAuthority("WWW.H.example.:443")->written, "WWW.H.example.");
  EXPECT_EQ(ParseAuthority("[2606:4700::1]:443")->written, "[2606:4700::1]");
}

TEST(AuthorityTest, WhatNoPolicyOpensIsAHostAndSaysSo) {
  EXPECT_EQ(Read("LocalHost:80"), "never localhost|80");
  EXPECT_EQ(Read("a.localhost."), "never a.localhost|0");
  EXPECT_EQ(Read("metadata.google.internal:80"), "never metadata.google.internal|80");
  EXPECT_EQ(Read("127.0.0.1:80"), "never 127.0.0.1|80");
  EXPECT_EQ(Read("169.254.169.254:80"), "never 169.254.169.254|80");
  EXPECT_EQ(Read("0.0.0.0:80"), "never 0.0.0.0|80");
  EXPECT_EQ(Read("[::1]:80"), "never ::1|80");
  EXPECT_EQ(Read("[::]:80"), "never ::|80");
}

TEST(AuthorityTest, NumbersInUnusualFormsAreNoHosts) {
  for (const char* text : {"2130706433:80", "0x7f000001:80", "0x7f.1:80", "127.1:80",
                           "0177.0.0.1:80", "127.0.0.1.:80", "1.2.3:80", "010.0.0.1", "1.2.3.4.5",
                           "h.example.0x1", "256.0.0.1", "h.example.1", "00.0.0.0"}) {
    EXPECT_EQ(Read(text), "none") << text;
  }
}

TEST(AuthorityTest, WhatIsNoHostIsRefused) {
  for (const char* text : {"",
                           ":",
                           ":80",
                           ".",
                           "..",
                           "a..b",
                           ".a.example",
                           "h.example..",
                           "u@h.example",
                           "u:p@h.example:80",
                           "h example",
                           "h.example/",
                           "h.example?a",
                           "h%2eexample",
                           "*.h.example",
                           "**",
                           "*",
                           "-a.example",
                           "::1",
                           "2606:4700::1",
                           "2606:4700::1:443",
                           "[2606:4700::1",
                           "2606:4700::1]",
                           "[]",
                           "[h.example]",
                           "[8.8.8.8]:80",
                           "[fe80::1%25eth0]:80",
                           "[fe80::1%eth0]",
                           "[2606:4700::1]a",
                           "[2606:4700::1]80",
                           "[[::1]]",
                           "x[2606:4700::1]",
                           "[2606:4700::1]:80]",
                           "h.example,o.example",
                           "h\\o.example"}) {
    EXPECT_EQ(Read(text), "none") << text;
  }
  EXPECT_EQ(Read(std::string_view("evil\0.google.com", 16)), "none");
}

TEST(AuthorityTest, PortsAreWrittenInOneWay) {
  EXPECT_EQ(Read("h.example:1"), "h.example|1");
  EXPECT_EQ(Read("h.example:65535"), "h.example|65535");
  for (const char* port : {"", "0", "0443", "00", "+443", "-1", " 443", "443 ", "0x1bb", "65536",
                           "65979", "4294967739", "1:2", "443a", "٤"}) {
    EXPECT_EQ(Read("h.example:" + std::string(port)), "none") << port;
    EXPECT_EQ(Read("[2606:4700::1]:" + std::string(port)), "none") << port;
  }
}

}  // namespace
}  // namespace odyssey::egress::http
