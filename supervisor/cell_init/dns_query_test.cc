#include "supervisor/cell_init/dns_query.h"

#include <gtest/gtest.h>

namespace odyssey::cell_init {
namespace {

constexpr size_t kHeader = 12;

// A query as resolvers send it, for type A of class IN; `name` with the lengths of its labels.
std::string Query(const std::string& name) {
  return std::string("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00", kHeader) + name +
         std::string("\x00\x00\x01\x00\x01", 5);
}

std::string NameOf(const std::string& query) {
  const auto refused = RefuseQuery(query);
  return refused ? refused->name : "none";
}

TEST(DnsQueryTest, NoSuchNameIsAnswered) {
  const std::string query = Query("\3WwW\7example\3org");
  const auto refused = RefuseQuery(query);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->name, "www.example.org");
  std::string expected = query;
  expected[2] = '\x81';  // a response; recursion was desired
  expected[3] = '\x83';  // NXDOMAIN
  EXPECT_EQ(refused->reply, expected);
}

TEST(DnsQueryTest, WhatIsBehindTheQuestionIsNotAnswered) {
  std::string query = Query("\1a");
  query[11] = 1;  // EDNS
  const auto refused = RefuseQuery(query + std::string("\0\0\x29\x04\xd0\0\0\0\0\0\0", 11));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->reply.size(), query.size());
  EXPECT_EQ(refused->reply[11], 0);
}

TEST(DnsQueryTest, BytesThatNoNameHasAreQuestionMarks) {
  EXPECT_EQ(NameOf(Query("\5a.b\n_\4\x1b[m\xff")), "a?b?_.??m?");
  EXPECT_EQ(NameOf(Query("")), "");
}

TEST(DnsQueryTest, WhatIsNoQueryIsNotAnswered) {
  const std::string query = Query("\1a");
  for (size_t size = 0; size < query.size(); ++size) {
    EXPECT_EQ(NameOf(query.substr(0, size)), "none") << size;
  }
  const auto with = [&](size_t at, char value) {
    std::string changed = query;
    changed[at] = value;
    return NameOf(changed);
  };
  EXPECT_EQ(with(2, '\x80'), "none") << "a response: two resolvers would answer each other";
  EXPECT_EQ(with(2, '\x28'), "none") << "an update";
  EXPECT_EQ(with(5, 0), "none");
  EXPECT_EQ(with(5, 2), "none");
  EXPECT_EQ(with(12, '\x40'), "none");
  EXPECT_EQ(with(12, '\xc0'), "none") << "a pointer";
  std::string name;
  for (int i = 0; i < 4; ++i) name += '\x3f' + std::string(63, 'x');
  EXPECT_EQ(NameOf(Query(name)), "none") << "longer than a name may be";
  EXPECT_EQ(NameOf(query + std::string(kMaxDnsQuery, 'x')), "none");
}

}  // namespace
}  // namespace odyssey::cell_init
