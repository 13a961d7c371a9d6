#include "policy/egress/pattern.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "policy/egress/address.h"

namespace odyssey::egress {
namespace {

// The one spelling, or the error.
std::string Host(const std::string& host) {
  const Result<std::string> normal = NormalizeHost(host);
  return normal.ok() ? *normal : normal.status().message();
}

TEST(HostPatternTest, HasOneSpelling) {
  EXPECT_EQ(Host("API.Example.com."), "api.example.com");
  EXPECT_EQ(Host("*.example.com"), "*.example.com");
  EXPECT_EQ(Host("**.Example.com"), "**.example.com");
  EXPECT_EQ(Host("api.*.example.com"), "api.*.example.com");
  EXPECT_EQ(Host("redis"), "redis");
  EXPECT_EQ(Host("my_host-1.test"), "my_host-1.test");
  EXPECT_EQ(Host("10.1.2.3"), "10.1.2.3");
  EXPECT_EQ(Host("[2001:DB8::0:1]"), "2001:db8::1");
  EXPECT_EQ(Host("fd00::1"), "fd00::1");
}

TEST(HostPatternTest, RefusesPatternsThatStandForTooMuch) {
  for (const char* host : {"*", "**", "*.com", "**.com", "*.*", "api.*", "*.*.com", "*.com."}) {
    EXPECT_NE(Host(host).find("stands for too much"), std::string::npos) << host;
  }
  for (const char* host : {"a.**.example.com", "api*.example.com", "*a.example.com", "***.a.b"}) {
    EXPECT_NE(Host(host).find("`*` is a whole label"), std::string::npos) << host;
  }
}

TEST(HostPatternTest, RefusesWhatIsNoHost) {
  for (const char* host : {"a..b", ".a", "-a.b", "a-.b", "a b", "a?.b.c", "[ab].c.d", "a/b", "a:1",
                           "b\xc3\xbc"
                           "cher.example",
                           "user@host"}) {
    EXPECT_NE(Host(host).find("is no host"), std::string::npos) << host;
  }
  EXPECT_NE(Host(std::string(64, 'a') + ".b").find("is no host"), std::string::npos);
  EXPECT_NE(Host(std::string(250, 'a') + ".bc").find("is no host"), std::string::npos);
  EXPECT_NE(Host(".").find("is no host"), std::string::npos);
}

TEST(HostPatternTest, RefusesAddressesInDisguise) {
  for (const char* host : {"2130706433", "127.1", "0x7f.1", "0177.0.0.1", "1.2.3.4.5", "a.0x7f"}) {
    EXPECT_NE(Host(host).find("unusual form"), std::string::npos) << host;
  }
}

TEST(HostPatternTest, RefusesThisMachineAndWhatNoPolicyOpens) {
  const std::vector<std::pair<std::string, std::string>> closed = {
      {"127.0.0.1", "loopback"},
      {"localhost", "loopback"},
      {"a.localhost.", "loopback"},
      {"0.0.0.0", "unspecified"},
      {"169.254.169.254", "link-local"},
      {"224.0.0.1", "multicast"},
      {"255.255.255.255", "reserved"},
      {"168.63.129.16", "a cloud's metadata"},
      {"100.100.100.200", "a cloud's metadata"},
      {"192.0.0.192", "a cloud's metadata"},
      {"2606::5efe:10.0.0.1", "ISATAP"},
      {"2606::200:5efe:10.0.0.1", "ISATAP"},
      {"::1", "loopback"},
      {"[::]", "unspecified"},
      {"::ffff:10.0.0.1", "IPv4-mapped"},
      {"64:ff9b::a00:1", "NAT64"},
      {"2002:a00:1::", "6to4"},
      {"2001:0:1::", "Teredo"},
      {"fe80::1", "link-local"},
      {"ff02::1", "multicast"},
      {"fd00:ec2::254", "a cloud's metadata"},
  };
  for (const auto& [host, why] : closed) {
    EXPECT_NE(Host(host).find("no policy opens"), std::string::npos) << host;
    EXPECT_NE(Host(host).find(why), std::string::npos) << host << ": " << Host(host);
  }
}

TEST(HostPatternTest, OverlapsWhereSomeHostIsMatchedByBoth) {
  const auto overlap = [](const std::string& a, const std::string& b) {
    EXPECT_EQ(HostsOverlap(a, b), HostsOverlap(b, a)) << a << " " << b;
    return HostsOverlap(a, b);
  };
  EXPECT_TRUE(overlap("*.example.com", "api.example.com"));
  EXPECT_FALSE(overlap("*.example.com", "example.com"));
  EXPECT_FALSE(overlap("*.example.com", "a.b.example.com"));
  EXPECT_TRUE(overlap("**.example.com", "a.b.example.com"));
  EXPECT_FALSE(overlap("**.example.com", "example.com"));
  EXPECT_TRUE(overlap("**.example.com", "a.*.b.example.com"));
  EXPECT_TRUE(overlap("*.b.example.com", "a.*.example.com"));
  EXPECT_FALSE(overlap("*.b.example.com", "a.c.example.com"));
  EXPECT_TRUE(overlap("", ""));
  EXPECT_FALSE(overlap("", "a.example.com"));
}

TEST(PathPatternTest, IsCanonical) {
  for (const char* path : {"**", "/", "/v1/*", "/v1/**", "/**/info/refs*", "/a b", "/v1/"}) {
    EXPECT_TRUE(CheckPathPattern("path", path).ok()) << path;
  }
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"", "must begin with `/`"},
      {"v1", "must begin with `/`"},
      {"*", "must begin with `/`"},
      {"/a/../b", "canonical"},
      {"/./a", "canonical"},
      {"//a", "canonical"},
      {"/a**", "`**` only as a whole"},
      {"/a?b=1", "no query"},
      {"/[ab]", "no wildcards but"},
      {"/{a,b}", "no wildcards but"},
      {"/a%2fb", "percent-encoded"},
      {"/a\nb", "control character"},
      {"/" + std::string(1024, 'a'), "at most 1024"},
  };
  for (const auto& [path, why] : bad) {
    const Status status = CheckPathPattern("path", path);
    EXPECT_NE(status.message().find(why), std::string::npos) << path << ": " << status.message();
  }
}

TEST(PathPatternTest, OneStarStaysWithinASegment) {
  EXPECT_FALSE(PathsOverlap("/v1/*", "/v1/admin/secrets"));
  EXPECT_TRUE(PathsOverlap("/v1/**", "/v1/admin/secrets"));
  EXPECT_TRUE(PathsOverlap("/v1/**", "/v1"));
  EXPECT_TRUE(PathsOverlap("", "/v1"));
  EXPECT_TRUE(PathsOverlap("**", "/v1/*"));
  EXPECT_TRUE(PathsOverlap("/a*c", "/*bc"));
  EXPECT_FALSE(PathsOverlap("/a*c", "/*b"));
  EXPECT_TRUE(PathsOverlap("/**/x", "/a/**"));
  EXPECT_FALSE(PathsOverlap("/a/**/x", "/b/**"));
}

std::string Range(const std::string& text) {
  const Result<AddressRange> range = ParseRange(text);
  return range.ok() ? ToString(*range) : range.status().message();
}

TEST(AddressRangeTest, ReadsAddressesAndRanges) {
  EXPECT_EQ(Range("10.0.0.0/8"), "10.0.0.0/8");
  EXPECT_EQ(Range("192.168.1.7"), "192.168.1.7");
  EXPECT_EQ(Range("192.168.1.7/32"), "192.168.1.7");
  EXPECT_EQ(Range("FD01::/16"), "fd01::/16");
  EXPECT_EQ(Range("203.0.113.10/32"), "203.0.113.10");
}

TEST(AddressRangeTest, RefusesWhatNoPolicyOpens) {
  EXPECT_EQ(Range("0.0.0.0/0"), "`0.0.0.0/0` is every address; name the ranges that are meant");
  EXPECT_EQ(Range("10.0.0.1/8"), "`10.0.0.1/8` has bits below its prefix; 10.0.0.0/8 is the range");
  for (const char* text :
       {"127.0.0.0/8", "127.1.0.0/16", "126.0.0.0/7", "128.0.0.0/1", "::1", "169.254.169.254",
        "fe80::/10", "::ffff:0:0/96", "fd00:ec2::254", "168.63.129.16", "168.63.0.0/16",
        "100.64.0.0/10", "fd00:ec2::/32", "fd00::/8"}) {
    EXPECT_NE(Range(text).find("that no policy opens"), std::string::npos) << Range(text);
  }
  for (const char* text :
       {"", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0/8", "a", "::/129", "10.0.0.0/8 "}) {
    EXPECT_NE(Range(text).find("is no address"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace odyssey::egress
