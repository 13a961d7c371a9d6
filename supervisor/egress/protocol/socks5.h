#ifndef ODYSSEY_SUPERVISOR_EGRESS_PROTOCOL_SOCKS5_H_
#define ODYSSEY_SUPERVISOR_EGRESS_PROTOCOL_SOCKS5_H_

// The server's side of SOCKS5 (RFC 1928) up to its one request, on bytes that a command chose. Does
// no I/O. Speaks no authentication but "none", and CONNECT only.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace odyssey::egress::protocol {

enum class Socks5Code : uint8_t {
  kSucceeded = 0,
  kFailure = 1,
  kNotAllowed = 2,
  kHostUnreachable = 4,
  kConnectionRefused = 5,
  kCommandNotSupported = 7,
  kAddressTypeNotSupported = 8,
};

// What the client is sent when its request is decided and dialled.
std::string Socks5Reply(Socks5Code code);

struct Socks5Destination {
  // As ReadHostName returns it, or the text of an IPv4 or IPv6 address. Not yet judged: it may be
  // an address of loopback.
  std::string host;
  uint16_t port = 0;
  friend bool operator==(const Socks5Destination&, const Socks5Destination&) = default;
};

class Socks5 final {
 public:
  enum class State {
    kMore,
    kRequest,  // destination() is asked for; the caller answers with Socks5Reply
    kRefused,  // after its output was sent, the connection is closed
  };

  // Takes bytes from the front of `bytes` and returns how many; none once the state is not kMore.
  // Those behind the request are the tunnel's.
  size_t Feed(std::string_view bytes);

  // What the client is to be sent now, once.
  std::string TakeOutput() { return std::exchange(output_, {}); }

  State state() const { return state_; }
  // Of kRequest.
  const Socks5Destination& destination() const { return destination_; }

 private:
  // What the bytes that are waited for complete.
  enum class Step { kMethodCount, kMethods, kHead, kNameLength, kDestination };

  // `part_` has all that was waited for.
  void Advance();
  void ReadMethods();
  void ReadHead();
  void ReadDestination();
  void WaitFor(Step step, size_t size);
  void Refuse(std::string output);

  State state_ = State::kMore;
  Step step_ = Step::kMethodCount;
  size_t wanted_ = 2;  // size of `part_` at the next step
  std::string part_;   // the method selection, then the request, as far as it came
  std::string output_;
  Socks5Destination destination_;
};

}  // namespace odyssey::egress::protocol

#endif  // ODYSSEY_SUPERVISOR_EGRESS_PROTOCOL_SOCKS5_H_
