#include "supervisor/egress/protocol/socks5.h"

#include <arpa/inet.h>

#include <algorithm>
#include <optional>

#include "supervisor/egress/protocol/host_name.h"
#include "supervisor/egress/protocol/network_reader.h"

namespace odyssey::egress::protocol {
namespace {

constexpr char kVersion = 5;
constexpr char kNoAuthentication = 0;
constexpr char kNoAcceptableMethod = static_cast<char>(0xff);
constexpr uint8_t kConnect = 1;
constexpr uint8_t kIpv4 = 1, kName = 3, kIpv6 = 4;
constexpr size_t kHead = 4;  // version, command, reserved, address type
constexpr size_t kPort = 2;

size_t Byte(const std::string& part, size_t at) { return static_cast<unsigned char>(part[at]); }

std::string AddressText(int family, std::string_view bytes) {
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(family, bytes.data(), text, sizeof(text));
  return text;
}

}  // namespace

std::string Socks5Reply(Socks5Code code) {
  std::string reply = {kVersion, static_cast<char>(code), 0, static_cast<char>(kIpv4)};
  return reply.append(4 + kPort, '\0');  // the address that was bound is no concern of the cell
}

size_t Socks5::Feed(std::string_view bytes) {
  size_t taken = 0;
  while (taken < bytes.size() && state_ == State::kMore) {
    const size_t size = std::min(wanted_ - part_.size(), bytes.size() - taken);
    part_ += bytes.substr(taken, size);
    taken += size;
    if (part_.size() == wanted_) Advance();
  }
  return taken;
}

void Socks5::Advance() {
  switch (step_) {
    case Step::kMethodCount:
      if (part_[0] != kVersion) return Refuse("");
      if (part_[1] == 0) return Refuse({kVersion, kNoAcceptableMethod});
      return WaitFor(Step::kMethods, 2 + Byte(part_, 1));
    case Step::kMethods:
      return ReadMethods();
    case Step::kHead:
      return ReadHead();
    case Step::kNameLength:
      return WaitFor(Step::kDestination, part_.size() + Byte(part_, kHead) + kPort);
    case Step::kDestination:
      return ReadDestination();
  }
}

void Socks5::ReadMethods() {
  if (part_.find(kNoAuthentication, 2) == std::string::npos) {
    return Refuse({kVersion, kNoAcceptableMethod});
  }
  output_ += {kVersion, kNoAuthentication};
  part_.clear();
  WaitFor(Step::kHead, kHead);
}

void Socks5::ReadHead() {
  if (part_[0] != kVersion || part_[2] != 0) return Refuse(Socks5Reply(Socks5Code::kFailure));
  if (Byte(part_, 1) != kConnect) return Refuse(Socks5Reply(Socks5Code::kCommandNotSupported));
  switch (Byte(part_, 3)) {
    case kIpv4:
      return WaitFor(Step::kDestination, kHead + 4 + kPort);
    case kIpv6:
      return WaitFor(Step::kDestination, kHead + 16 + kPort);
    case kName:
      return WaitFor(Step::kNameLength, kHead + 1);
    default:
      return Refuse(Socks5Reply(Socks5Code::kAddressTypeNotSupported));
  }
}

void Socks5::ReadDestination() {
  NetworkReader in(part_);
  in.View(kHead - 1);
  const uint8_t type = in.U8();
  if (type == kName) {
    // The first that sees the name: "evil\0.google.com" reaches no comparison with a pattern.
    const std::optional<std::string> name = ReadHostName(in.View(in.U8()));
    if (!name) return Refuse(Socks5Reply(Socks5Code::kNotAllowed));
    destination_.host = *name;
  } else {
    const bool v4 = type == kIpv4;
    destination_.host = AddressText(v4 ? AF_INET : AF_INET6, in.View(v4 ? 4 : 16));
  }
  destination_.port = in.U16();
  state_ = State::kRequest;
}

void Socks5::WaitFor(Step step, size_t size) {
  step_ = step;
  wanted_ = size;
}

void Socks5::Refuse(std::string output) {
  output_ += output;
  state_ = State::kRefused;
}

}  // namespace odyssey::egress::protocol
