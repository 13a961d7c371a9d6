#ifndef ODYSSEY_SUPERVISOR_EGRESS_PROTOCOL_CLIENT_HELLO_H_
#define ODYSSEY_SUPERVISOR_EGRESS_PROTOCOL_CLIENT_HELLO_H_

// The ClientHello (RFC 8446) at the front of a stream whose bytes a command chose: enough of it to
// decide on the connection. Pure and bounded.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace odyssey::egress::protocol {

inline constexpr size_t kMaxClientHello = 16 * 1024;  // with the headers of its records

struct ClientHello {
  std::string sni;  // as ReadHostName returns it; "": no such extension
  std::vector<std::string> alpn;
  bool ech = false;  // Encrypted Client Hello, or GREASE in its place: they look the same
  friend bool operator==(const ClientHello&, const ClientHello&) = default;
};

enum class ClientHelloState {
  kMore,    // so far it may become any of the others
  kNotTls,  // the stream does not begin with a handshake record
  kHello,
  kBad,  // malformed, two values where one is due, a name that no host has, or too long
};

struct ReceivedClientHello {
  ClientHelloState state = ClientHelloState::kMore;
  ClientHello hello;  // of kHello
};

// `stream`: everything received so far, of which nothing is consumed. A state other than kMore
// remains whatever follows.
ReceivedClientHello ReadClientHello(std::string_view stream);

}  // namespace odyssey::egress::protocol

#endif  // ODYSSEY_SUPERVISOR_EGRESS_PROTOCOL_CLIENT_HELLO_H_
