#include "supervisor/egress/protocol/host_name.h"

#include <gtest/gtest.h>

#include <cctype>

namespace odyssey::egress::protocol {
namespace {

using std::string_literals::operator""s;

std::string NameOf(const std::string& bytes) { return ReadHostName(bytes).value_or("none"); }

TEST(HostNameTest, SpellsNamesInOneWay) {
  EXPECT_EQ(NameOf("WwW.Example.COM"), "www.example.com");
  EXPECT_EQ(NameOf("example.com."), "example.com");
  EXPECT_EQ(NameOf("xn--bcher-kva.example"), "xn--bcher-kva.example");
  EXPECT_EQ(NameOf("_sip._tcp.x"), "_sip._tcp.x");
  EXPECT_EQ(NameOf("localhost"), "localhost");
  EXPECT_EQ(NameOf("192.0.2.1"), "192.0.2.1");
}

TEST(HostNameTest, RefusesWhatNoHostIsCalled) {
  const std::string names[] = {"",
                               ".",
                               "..",
                               ".a",
                               "a..b",
                               "a.b..",
                               "a b",
                               "a\0"s,
                               "\0a"s,
                               "a\0.b.c"s,
                               "a\nb",
                               "a\x7f",
                               "a*",
                               "*.a",
                               "a/b",
                               "a@b",
                               "a:80",
                               "::1",
                               "[::1]",
                               "a%b",
                               "a\\b",
                               "-a.b",
                               "a-.b",
                               "b\xc3\xbc"
                               "cher.example",
                               "a#b",
                               "a,b",
                               "a;b",
                               "fe80::1%lo"};
  for (const std::string& name : names) EXPECT_EQ(NameOf(name), "none") << name;
}

TEST(HostNameTest, BoundsLabelsAndNames) {
  const std::string label(63, 'x');
  EXPECT_EQ(NameOf(label), label);
  EXPECT_EQ(NameOf(label + "x"), "none");
  const std::string longest = label + "." + label + "." + label + "." + std::string(61, 'y');
  ASSERT_EQ(longest.size(), kMaxHostName);
  EXPECT_EQ(NameOf(longest), longest);
  EXPECT_EQ(NameOf(longest + "."), longest);
  EXPECT_EQ(NameOf(longest + "y"), "none");
}

TEST(HostNameTest, EveryOtherByteIsRefused) {
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    const bool plain = byte < 128 && (std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.');
    EXPECT_EQ(ReadHostName("a"s + c + "b").has_value(), plain) << byte;
  }
}

}  // namespace
}  // namespace odyssey::egress::protocol
