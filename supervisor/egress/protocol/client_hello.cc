#include "supervisor/egress/protocol/client_hello.h"

#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "supervisor/egress/protocol/host_name.h"
#include "supervisor/egress/protocol/network_reader.h"

namespace odyssey::egress::protocol {
namespace {

constexpr char kHandshakeRecord = 22;
constexpr char kMajorVersion = 3;
constexpr size_t kRecordHeader = 5;
constexpr size_t kMaxRecord = 1 << 14;
constexpr char kClientHelloMessage = 1;
constexpr size_t kMessageHeader = 4;
constexpr size_t kMaxSessionId = 32;

constexpr uint16_t kServerName = 0, kAlpn = 16, kEncryptedClientHello = 0xfe0d;
constexpr uint8_t kHostName = 0;

struct Message {
  ClientHelloState state = ClientHelloState::kMore;
  std::string bytes;  // of kHello: the handshake message out of its records
};

// What the header of a record, as far as it came, says.
ClientHelloState CheckRecordHeader(std::string_view record) {
  if (!record.empty() && record[0] != kHandshakeRecord) return ClientHelloState::kNotTls;
  if (record.size() > 1 && record[1] != kMajorVersion) return ClientHelloState::kNotTls;
  if (record.size() < kRecordHeader) return ClientHelloState::kMore;
  NetworkReader in(record.substr(3));
  const size_t length = in.U16();
  const bool fits = length > 0 && length <= kMaxRecord;
  return fits ? ClientHelloState::kHello : ClientHelloState::kBad;
}

// The size of the message whose first bytes are `bytes`; 0: not known yet.
size_t MessageSize(std::string_view bytes) {
  if (bytes.size() < kMessageHeader) return 0;
  NetworkReader in(bytes.substr(1));
  return kMessageHeader + in.U24();
}

Message ReadMessage(std::string_view stream) {
  std::string bytes;
  for (bool first = true;; first = false) {
    ClientHelloState state = CheckRecordHeader(stream);
    if (state == ClientHelloState::kNotTls && !first) state = ClientHelloState::kBad;
    if (state != ClientHelloState::kHello) return {state, ""};

    NetworkReader in(stream.substr(3));
    const size_t length = in.U16();
    const std::string_view fragment = stream.substr(kRecordHeader, length);
    const size_t end_of_record = bytes.size() + length;
    bytes += fragment;
    if (!bytes.empty() && bytes[0] != kClientHelloMessage) return {ClientHelloState::kBad, ""};
    const size_t size = MessageSize(bytes);
    // A record that holds more than the message has a second one, which another reader might take.
    if (size > kMaxClientHello || (size != 0 && end_of_record > size)) {
      return {ClientHelloState::kBad, ""};
    }
    if (size != 0 && bytes.size() == size) return {ClientHelloState::kHello, std::move(bytes)};
    if (fragment.size() < length) return {ClientHelloState::kMore, ""};
    stream.remove_prefix(kRecordHeader + length);
  }
}

bool ReadServerName(std::string_view value, ClientHello* hello) {
  NetworkReader in(value);
  NetworkReader list(in.View(in.U16()));
  const uint8_t type = list.U8();
  const std::optional<std::string> name = ReadHostName(list.View(list.U16()));
  if (!in.Done() || !list.Done() || type != kHostName || !name) return false;
  hello->sni = *name;
  return true;
}

bool ReadAlpn(std::string_view value, ClientHello* hello) {
  NetworkReader in(value);
  NetworkReader list(in.View(in.U16()));
  if (!in.Done() || list.Done()) return false;
  while (!list.Done()) {
    const std::string_view protocol = list.View(list.U8());
    if (protocol.empty()) return false;
    hello->alpn.emplace_back(protocol);
  }
  return true;
}

bool ReadExtension(uint16_t type, std::string_view value, ClientHello* hello) {
  switch (type) {
    case kServerName:
      return ReadServerName(value, hello);
    case kAlpn:
      return ReadAlpn(value, hello);
    case kEncryptedClientHello:
      hello->ech = true;
      return true;
    default:
      return true;
  }
}

bool ReadExtensions(std::string_view bytes, ClientHello* hello) {
  NetworkReader in(bytes);
  std::set<uint16_t> seen;
  while (!in.Done()) {
    const uint16_t type = in.U16();
    const std::string_view value = in.View(in.U16());
    // Of two server names we would take one and the server the other.
    if (in.failed() || !seen.insert(type).second) return false;
    if (!ReadExtension(type, value, hello)) return false;
  }
  return true;
}

bool ReadBody(std::string_view body, ClientHello* hello) {
  NetworkReader in(body);
  in.U16();     // the legacy version
  in.View(32);  // random
  const std::string_view session_id = in.View(in.U8());
  const std::string_view ciphers = in.View(in.U16());
  const std::string_view compressions = in.View(in.U8());
  if (in.failed() || session_id.size() > kMaxSessionId) return false;
  if (ciphers.empty() || ciphers.size() % 2 != 0 || compressions.empty()) return false;
  if (in.Done()) return true;  // TLS 1.2 allows a hello without extensions

  const std::string_view extensions = in.View(in.U16());
  return in.Done() && ReadExtensions(extensions, hello);
}

}  // namespace

ReceivedClientHello ReadClientHello(std::string_view stream) {
  const Message message = ReadMessage(stream.substr(0, kMaxClientHello));
  ReceivedClientHello received;
  received.state = message.state;
  if (message.state == ClientHelloState::kMore && stream.size() >= kMaxClientHello) {
    received.state = ClientHelloState::kBad;
  }
  if (message.state != ClientHelloState::kHello) return received;
  const std::string_view body = std::string_view(message.bytes).substr(kMessageHeader);
  if (ReadBody(body, &received.hello)) return received;
  return {ClientHelloState::kBad, {}};
}

}  // namespace odyssey::egress::protocol
