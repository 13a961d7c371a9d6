#include "supervisor/egress/protocol/dns.h"

#include <gtest/gtest.h>

namespace odyssey::egress::protocol {
namespace {

using std::string_literals::operator""s;

constexpr size_t kHeader = 12;
constexpr std::chrono::seconds kTtl{20};

std::string Wire(uint16_t value) {
  return {static_cast<char>(value >> 8), static_cast<char>(value & 0xff)};
}

// `name` with the lengths of its labels, without the last one.
std::string Query(const std::string& name, uint16_t type = kDnsA, uint16_t of_class = 1) {
  return "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"s + name + "\0"s + Wire(type) +
         Wire(of_class);
}

const std::string kOptRecord = "\0\0\x29\x04\xd0\0\0\0\0\0\0"s;

std::string With(std::string query, size_t at, char value) {
  query[at] = value;
  return query;
}
std::string WithOpt(const std::string& query, const std::string& opt = kOptRecord) {
  return With(query, 11, 1) + opt;
}

// What becomes of a message: the name it asks for, or the code it is answered with.
std::string Outcome(const std::string& message) {
  const DnsReceived received = ReadDnsQuery(message);
  if (received.query) return received.query->name;
  if (received.reply.empty()) return "nothing";
  return "code " + std::to_string(received.reply[3] & 0xf);
}

const std::string kQuery = Query("\3WwW\7eXample\3org");

TEST(DnsTest, ReadsOneQuestion) {
  const DnsReceived received = ReadDnsQuery(kQuery);
  ASSERT_TRUE(received.query);
  EXPECT_EQ(received.query->name, "www.example.org");
  EXPECT_EQ(received.query->type, kDnsA);
  EXPECT_FALSE(received.query->edns);
  EXPECT_EQ(received.reply, "");
}

TEST(DnsTest, JudgesMessages) {
  std::string longest;
  for (int i = 0; i < 3; ++i) longest += '\x3f' + std::string(63, 'x');
  const struct {
    const char* what;
    std::string message;
    std::string outcome;
  } kCases[] = {
      {"EDNS", WithOpt(kQuery), "www.example.org"},
      {"EDNS with an option", WithOpt(kQuery, "\0\0\x29\x04\xd0\0\0\0\0\0\4\0\x0a\0\0"s),
       "www.example.org"},
      {"no header", kQuery.substr(0, kHeader - 1), "nothing"},
      {"a response: two servers would answer each other", With(kQuery, 2, '\x80'), "nothing"},
      {"an update", With(kQuery, 2, '\x28'), "code 4"},
      {"no question", With(kQuery, 5, 0), "code 1"},
      {"two questions", With(kQuery, 5, 2), "code 1"},
      {"256 questions", With(kQuery, 4, 1), "code 1"},
      {"an answer", With(kQuery, 7, 1), "code 1"},
      {"an authority", With(kQuery, 9, 1), "code 1"},
      {"a record that is missing", With(kQuery, 11, 1), "code 1"},
      {"two records", With(kQuery, 11, 2) + kOptRecord + kOptRecord, "code 1"},
      {"EDNS version 1", WithOpt(kQuery, "\0\0\x29\x04\xd0\0\1\0\0\0\0"s), "code 1"},
      {"a record that is no OPT", WithOpt(kQuery, "\0\0\1\0\1\0\0\0\0\0\0"s), "code 1"},
      {"an OPT of a name", WithOpt(kQuery, "\1a\0\0\x29\x04\xd0\0\0\0\0\0\0"s), "code 1"},
      {"options longer than the message", WithOpt(kQuery, "\0\0\x29\x04\xd0\0\0\0\0\0\1"s),
       "code 1"},
      {"bytes behind the question", kQuery + "x", "code 1"},
      {"too long", WithOpt(kQuery) + std::string(kMaxDnsMessage, 'x'), "code 1"},
      {"a pointer", Query("\xc0\x0c"), "code 1"},
      {"a pointer behind a label", Query("\1a\xc0\x0c"), "code 1"},
      {"a label of 64", Query('\x40' + std::string(64, 'x')), "code 1"},
      {"a label longer than the message",
       Query("\x3f"
             "a"),
       "code 1"},
      {"a name of 255 bytes on the wire", Query(longest + '\x3d' + std::string(61, 'y')),
       std::string(63, 'x') + "." + std::string(63, 'x') + "." + std::string(63, 'x') + "." +
           std::string(61, 'y')},
      {"a name of 256", Query(longest + '\x3e' + std::string(62, 'y')), "code 1"},
      {"the root", Query(""), "code 5"},
      {"a NUL", Query("\4a\0.b\3com"s), "code 5"},
      {"a NUL in a label", Query("\3a\0b\3com"s), "code 5"},
      {"a dot in a label", Query("\5a.com"), "code 5"},
      {"a label that is a dot", Query("\1.\3com"), "code 5"},
      {"a dot at the end of a label", Query("\4com."), "code 5"},
      {"a control character", Query("\2a\n\3com"), "code 5"},
      {"a byte that is no ASCII", Query("\2\xc3\xbc\3com"), "code 5"},
      {"a star", Query("\1*\3com"), "code 5"},
      {"class CHAOS", Query("\7version\4bind", 16, 3), "code 5"},
      {"class ANY", Query("\1a\3com", kDnsA, 255), "code 5"},
      {"type ANY", Query("\1a\3com", 255), "a.com"},
  };
  for (const auto& c : kCases) EXPECT_EQ(Outcome(c.message), c.outcome) << c.what;
}

TEST(DnsTest, NothingIsReadFromAPart) {
  const std::string query = WithOpt(kQuery);
  for (size_t size = 0; size < query.size(); ++size) {
    EXPECT_EQ(Outcome(query.substr(0, size)), size < kHeader ? "nothing" : "code 1") << size;
  }
}

TEST(DnsTest, AnswersWithAddresses) {
  DnsQuery query = *ReadDnsQuery(kQuery).query;
  const DnsAddresses addresses = {{{198, 18, 0, 1}, {198, 18, 0, 2}}, {}};
  std::string expected = kQuery;
  expected[2] = '\x81';  // a response; recursion was desired
  expected[3] = '\x80';  // recursion is available
  expected[7] = 2;
  expected +=
      "\xc0\x0c\0\1\0\1\0\0\0\x14\0\4\xc6\x12\0\1"s + "\xc0\x0c\0\1\0\1\0\0\0\x14\0\4\xc6\x12\0\2"s;
  EXPECT_EQ(DnsReply(query, addresses, kTtl), expected);
}

TEST(DnsTest, AnswersAnIpv6QueryWithEdns) {
  const DnsQuery query = *ReadDnsQuery(WithOpt(Query("\1a", kDnsAaaa))).query;
  const DnsAddresses addresses = {{{198, 18, 0, 1}}, {{0xfd, 1, 2}}};
  std::string expected = Query("\1a", kDnsAaaa);
  expected[2] = '\x81', expected[3] = '\x80', expected[7] = 1, expected[11] = 1;
  expected += "\xc0\x0c\0\x1c\0\1\0\0\0\x14\0\x10\xfd\1\2"s + std::string(13, '\0') + kOptRecord;
  EXPECT_EQ(DnsReply(query, addresses, kTtl), expected);
}

TEST(DnsTest, OtherTypesHaveNoData) {
  const DnsAddresses addresses = {{{198, 18, 0, 1}}, {{0xfd}}};
  for (const uint16_t type : {kDnsHttps, kDnsSvcb, uint16_t{16}, uint16_t{255}, uint16_t{0}}) {
    const std::string message = Query("\1a", type);
    std::string expected = message;
    expected[2] = '\x81', expected[3] = '\x80';
    const DnsQuery query = *ReadDnsQuery(message).query;
    EXPECT_EQ(DnsReply(query, addresses, kTtl), expected) << type;
    EXPECT_EQ(DnsReply(query, DnsCode::kNoError), expected) << type;
  }
  const DnsQuery query = *ReadDnsQuery(Query("\1a", kDnsAaaa)).query;
  EXPECT_EQ(DnsReply(query, {{{198, 18, 0, 1}}, {}}, kTtl), DnsReply(query, DnsCode::kNoError));
}

TEST(DnsTest, RepliesKeepTheQuestionAndNothingElse) {
  const DnsQuery query = *ReadDnsQuery(WithOpt(kQuery)).query;
  std::string expected = kQuery;
  expected[2] = '\x81', expected[3] = '\x83', expected[11] = 1;
  EXPECT_EQ(DnsReply(query, DnsCode::kNxDomain), expected + kOptRecord);
  expected[3] = '\x85';
  EXPECT_EQ(DnsReply(query, DnsCode::kRefused), expected + kOptRecord);
  EXPECT_EQ(ReadDnsQuery(With(kQuery, 5, 0)).reply, "\x12\x34\x81\x81\0\0\0\0\0\0\0\0"s);
  EXPECT_EQ(ReadDnsQuery(Query("\1*")).reply, "\x12\x34\x81\x85\0\1\0\0\0\0\0\0\1*\0\0\1\0\1"s);
}

TEST(DnsTest, BoundsTimesAndCounts) {
  std::string longest;
  for (int i = 0; i < 3; ++i) longest += '\x3f' + std::string(63, 'x');
  longest += '\x3d' + std::string(61, 'y');
  const DnsQuery query = *ReadDnsQuery(WithOpt(Query(longest, kDnsAaaa))).query;
  const DnsAddresses many = {{}, std::vector<Ipv6>(100)};
  const std::string reply = DnsReply(query, many, std::chrono::hours(1));
  EXPECT_LE(reply.size(), 512U);
  EXPECT_EQ(reply[7], static_cast<char>(kMaxDnsAddresses));
  const size_t ttl = query.reply_head.size() + 6;
  EXPECT_EQ(reply.substr(ttl, 4), "\0\0\0\x1e"s);
  EXPECT_EQ(DnsReply(query, many, std::chrono::seconds(-1)).substr(ttl, 4), "\0\0\0\0"s);
}

TEST(DnsTest, FramesHaveALength) {
  const std::string stream = FrameDns(kQuery) + FrameDns(Query("\1b"));
  const size_t size = 2 + kQuery.size();
  for (size_t part = 0; part < size; ++part) {
    const DnsFrame frame = ReadDnsFrame(std::string_view(stream).substr(0, part));
    EXPECT_EQ(frame.state, DnsFrameState::kMore) << part;
    EXPECT_EQ(frame.consumed, 0U) << part;
  }
  const DnsFrame first = ReadDnsFrame(stream);
  EXPECT_EQ(first.state, DnsFrameState::kMessage);
  EXPECT_EQ(first.message, kQuery);
  ASSERT_EQ(first.consumed, size);
  EXPECT_EQ(ReadDnsFrame(std::string_view(stream).substr(size)).message, Query("\1b"));

  EXPECT_EQ(ReadDnsFrame("\0\0"s).state, DnsFrameState::kBad);
  EXPECT_EQ(ReadDnsFrame("\0\x0b"s).state, DnsFrameState::kBad);
  EXPECT_EQ(ReadDnsFrame(Wire(kMaxDnsMessage)).state, DnsFrameState::kMore);
  EXPECT_EQ(ReadDnsFrame(Wire(kMaxDnsMessage + 1)).state, DnsFrameState::kBad);
}

}  // namespace
}  // namespace odyssey::egress::protocol
