#include "supervisor/egress/protocol/client_hello.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <memory>

namespace odyssey::egress::protocol {
namespace {

using std::string_literals::operator""s;
using State = ClientHelloState;

constexpr unsigned kEch = 0xfe0d;
constexpr size_t kRecordHeader = 5;

struct Client {
  std::string host;
  std::string alpn;  // on the wire
  bool ech = false;
  int max_version = TLS1_3_VERSION;
};

int AddEch(SSL*, unsigned, unsigned, const unsigned char** out, size_t* size, X509*, size_t, int*,
           void*) {
  static constexpr unsigned char kValue[] = {0, 1, 2, 3};
  *out = kValue;
  *size = sizeof(kValue);
  return 1;
}

// What OpenSSL's client sends first.
std::string HelloOf(const Client& client) {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                  SSL_CTX_free);
  SSL_CTX_set_max_proto_version(context.get(), client.max_version);
  if (client.ech) {
    SSL_CTX_add_custom_ext(context.get(), kEch, SSL_EXT_CLIENT_HELLO, AddEch, nullptr, nullptr,
                           nullptr, nullptr);
  }
  const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(context.get()), SSL_free);
  if (!client.host.empty()) SSL_set_tlsext_host_name(ssl.get(), client.host.c_str());
  SSL_set_alpn_protos(ssl.get(), reinterpret_cast<const unsigned char*>(client.alpn.data()),
                      static_cast<unsigned>(client.alpn.size()));
  BIO* out = BIO_new(BIO_s_mem());
  SSL_set_bio(ssl.get(), BIO_new(BIO_s_mem()), out);
  EXPECT_LT(SSL_connect(ssl.get()), 0);
  char* data = nullptr;
  const long size = BIO_get_mem_data(out, &data);
  return std::string(data, static_cast<size_t>(size));
}

// The same handshake message in records of that many bytes.
std::string InRecords(const std::string& hello, size_t size) {
  std::string out;
  for (size_t at = kRecordHeader; at < hello.size(); at += size) {
    const std::string part = hello.substr(at, size);
    out += hello.substr(0, 3) + static_cast<char>(part.size() >> 8) +
           static_cast<char>(part.size()) + part;
  }
  return out;
}

std::string Sized(size_t bytes_of_size, const std::string& value) {
  std::string out;
  while (bytes_of_size-- > 0) out += static_cast<char>(value.size() >> (8 * bytes_of_size));
  return out + value;
}

std::string Extension(uint16_t type, const std::string& value) {
  return std::string{static_cast<char>(type >> 8), static_cast<char>(type)} + Sized(2, value);
}

std::string ServerName(const std::string& name) {
  return Extension(0, Sized(2, "\0"s + Sized(2, name)));
}

// A record with a hello that has these bytes behind its compressions.
std::string HelloWith(const std::string& tail) {
  const std::string body = "\3\3"s + std::string(32, 'r') + "\0"s + "\0\2\x13\1"s + "\1\0"s + tail;
  return "\x16\3\1"s + Sized(2, "\1"s + Sized(3, body));
}
std::string HelloWithExtensions(const std::string& extensions) {
  return HelloWith(Sized(2, extensions));
}

State StateOf(const std::string& stream) { return ReadClientHello(stream).state; }

const struct {
  const char* what;
  Client client;
  ClientHello hello;
} kClients[] = {
    {"a name", {"example.com", ""}, {"example.com", {}, false}},
    {"a name in capitals", {"WWW.Example.COM", ""}, {"www.example.com", {}, false}},
    {"no name", {"", ""}, {"", {}, false}},
    {"ALPN", {"a.example", "\2h2\x8http/1.1"}, {"a.example", {"h2", "http/1.1"}, false}},
    {"ECH", {"a.example", "\2h2", true}, {"a.example", {"h2"}, true}},
    {"TLS 1.2", {"a.example", "", false, TLS1_2_VERSION}, {"a.example", {}, false}},
};

TEST(ClientHelloTest, ReadsWhatOpenSslSends) {
  for (const auto& c : kClients) {
    const ReceivedClientHello received = ReadClientHello(HelloOf(c.client));
    EXPECT_EQ(received.state, State::kHello) << c.what;
    EXPECT_EQ(received.hello, c.hello) << c.what;
  }
}

TEST(ClientHelloTest, EveryPrefixNeedsMore) {
  for (const auto& c : kClients) {
    for (const size_t record : {16384, 100, 5, 1}) {
      const std::string hello = InRecords(HelloOf(c.client), record);
      for (size_t size = 0; size < hello.size(); ++size) {
        ASSERT_EQ(StateOf(hello.substr(0, size)), State::kMore)
            << c.what << " " << size << " of records of " << record;
      }
      const ReceivedClientHello whole = ReadClientHello(hello);
      EXPECT_EQ(whole.state, State::kHello) << c.what << ", records of " << record;
      EXPECT_EQ(whole.hello, c.hello) << c.what;
      EXPECT_EQ(ReadClientHello(hello + "\x14\3\3\0\1\1"s).hello, c.hello) << "bytes behind it";
    }
  }
}

TEST(ClientHelloTest, TellsWhatIsNoTls) {
  for (const std::string& stream :
       {"GET / HTTP/1.1\r\n\r\n"s, "SSH-2.0-x\r\n"s, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"s, "\0"s,
        "\x80\x2e\1"s, "\x17\3\3"s, "\x16\2"s, "\x16\x16"s}) {
    EXPECT_EQ(StateOf(stream), State::kNotTls) << stream;
  }
}

TEST(ClientHelloTest, JudgesRecords) {
  const std::string hello = HelloWithExtensions(ServerName("a.example"));
  const std::string message = hello.substr(kRecordHeader);
  const struct {
    const char* what;
    std::string stream;
    State state;
  } kCases[] = {
      {"as it is", hello, State::kHello},
      {"an empty record", "\x16\3\1\0\0"s + hello, State::kBad},
      {"a record of more than 16 KiB", "\x16\3\1\x40\1"s + message, State::kBad},
      {"another message", "\x16\3\1\0\4\2\0\0\0"s, State::kBad},
      {"an alert between the parts", "\x16\3\1\0\1\1\x15\3\1"s, State::kBad},
      {"an old version of the second record", "\x16\3\1\0\1\1\x16\2"s, State::kBad},
      {"a second message in the record", "\x16\3\1"s + Sized(2, message + message), State::kBad},
      {"one byte more in the record", "\x16\3\1"s + Sized(2, message + "x"), State::kBad},
      {"a message of more than 16 KiB", "\x16\3\1\x40\0\1\0\x40\0"s, State::kBad},
      {"a message of 16 MiB", "\x16\3\1\x40\0\1\xff\xff\xff"s, State::kBad},
      {"an empty message", "\x16\3\1\0\4\1\0\0\0"s, State::kBad},
  };
  for (const auto& c : kCases) EXPECT_EQ(StateOf(c.stream), c.state) << c.what;
}

TEST(ClientHelloTest, JudgesExtensions) {
  const std::string name = ServerName("a.example");
  const std::string alpn = Extension(16, Sized(2, Sized(1, "h2")));
  const struct {
    const char* what;
    std::string stream;
    State state;
  } kCases[] = {
      {"none", HelloWithExtensions(""), State::kHello},
      {"before TLS 1.2: not even a list", HelloWith(""), State::kHello},
      {"a list that is cut off", HelloWith("\0"s), State::kBad},
      {"bytes behind the list", HelloWith(Sized(2, name) + "x"), State::kBad},
      {"an extension that is cut off", HelloWithExtensions(name + "\0\x10\0"s), State::kBad},
      {"an extension longer than the list", HelloWithExtensions("\0\x2b\0\1"s), State::kBad},
      {"two server names", HelloWithExtensions(name + ServerName("b.example")), State::kBad},
      {"two ALPN", HelloWithExtensions(alpn + alpn), State::kBad},
      {"two that are unknown", HelloWithExtensions(Extension(7, "") + Extension(7, "")),
       State::kBad},
      {"two names in one", HelloWithExtensions(Extension(0, Sized(2, "\0\0\1a\0\0\1b"s))),
       State::kBad},
      {"a name of another type", HelloWithExtensions(Extension(0, Sized(2, "\1\0\1a"s))),
       State::kBad},
      {"an empty list of names", HelloWithExtensions(Extension(0, Sized(2, ""))), State::kBad},
      {"an empty server name", HelloWithExtensions(Extension(0, "")), State::kBad},
      {"bytes behind the name", HelloWithExtensions(Extension(0, Sized(2, "\0\0\1a"s) + "x")),
       State::kBad},
      {"a NUL in the name", HelloWithExtensions(ServerName("evil\0.example"s)), State::kBad},
      {"a control character", HelloWithExtensions(ServerName("a\nb")), State::kBad},
      {"IPv6 as a name", HelloWithExtensions(ServerName("::1")), State::kBad},
      {"an empty list of protocols", HelloWithExtensions(Extension(16, Sized(2, ""))), State::kBad},
      {"an empty protocol", HelloWithExtensions(Extension(16, Sized(2, "\0"s))), State::kBad},
      {"a protocol that is cut off", HelloWithExtensions(Extension(16, Sized(2, "\3h2"))),
       State::kBad},
  };
  for (const auto& c : kCases) EXPECT_EQ(StateOf(c.stream), c.state) << c.what;
}

TEST(ClientHelloTest, JudgesWhatIsBeforeTheExtensions) {
  const auto state = [](const std::string& body) {
    return StateOf("\x16\3\1"s + Sized(2, "\1"s + Sized(3, body)));
  };
  const std::string start = "\3\3"s + std::string(32, 'r');
  const std::string end = "\0\2\x13\1\1\0"s;
  EXPECT_EQ(state(start + Sized(1, std::string(32, 's')) + end), State::kHello);
  EXPECT_EQ(state(start + Sized(1, std::string(33, 's')) + end), State::kBad);
  EXPECT_EQ(state(start + "\0\0\0\1\0"s), State::kBad) << "no cipher suite";
  EXPECT_EQ(state(start + "\0\0\3\x13\1\2\1\0"s), State::kBad) << "half a cipher suite";
  EXPECT_EQ(state(start + "\0\0\2\x13\1\0"s), State::kBad) << "no compression";
  const std::string whole = start + "\0"s + end;
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(state(whole.substr(0, size)), State::kBad) << size;
  }
}

TEST(ClientHelloTest, BoundsWhatIsRead) {
  // Its records and their headers together.
  const auto of_size = [](size_t size) {
    const size_t rest = HelloWithExtensions(Extension(21, "")).size();
    return HelloWithExtensions(Extension(21, std::string(size - rest, 'p')));
  };
  const std::string longest = of_size(kMaxClientHello);
  ASSERT_EQ(longest.size(), kMaxClientHello);
  EXPECT_EQ(StateOf(longest), State::kHello);
  EXPECT_EQ(StateOf(longest.substr(0, kMaxClientHello - 1)), State::kMore);
  const std::string longer = of_size(kMaxClientHello + 1);
  EXPECT_EQ(StateOf(longer), State::kBad);
  EXPECT_EQ(StateOf(longer.substr(0, kMaxClientHello)), State::kBad);
  EXPECT_EQ(StateOf(longer.substr(0, kMaxClientHello - 1)), State::kMore);
  EXPECT_EQ(StateOf(InRecords(of_size(4000), 1)), State::kBad);
}

TEST(ClientHelloTest, AStateRemains) {
  const std::string streams[] = {
      HelloWithExtensions(ServerName("a.example")),
      InRecords(HelloWithExtensions(ServerName("a.example")), 3),
      HelloWithExtensions(ServerName("evil\0.example"s)),
      HelloWithExtensions(ServerName("a") + ServerName("b")),
      "\x16\3\1\0\1\1\x15\3\1\0\2\1\0"s,
      "\x16\3\1\0\4\2\0\0\0"s,
      "GET / HTTP/1.1\r\n\r\n",
  };
  for (const std::string& stream : streams) {
    const std::string followed = stream + "\x16\3\1\0\1x"s;
    State before = State::kMore;
    for (size_t size = 0; size <= followed.size(); ++size) {
      const State now = StateOf(followed.substr(0, size));
      if (before != State::kMore) {
        EXPECT_EQ(now, before) << size;
      }
      before = now;
    }
    EXPECT_NE(before, State::kMore);
  }
}

}  // namespace
}  // namespace odyssey::egress::protocol
