// A ClientHello is whatever a command sends first: no crash, a name that a host may have, and a
// decision that more bytes do not change.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/status.h"
#include "supervisor/egress/protocol/client_hello.h"
#include "supervisor/egress/protocol/h2_preface.h"
#include "supervisor/egress/protocol/host_name.h"

using odyssey::egress::protocol::ClientHelloState;
using odyssey::egress::protocol::H2PrefaceState;
using odyssey::egress::protocol::ReadClientHello;
using odyssey::egress::protocol::ReadH2Preface;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto whole = ReadClientHello(input);
  const auto& sni = whole.hello.sni;
  ODY_CHECK(sni.empty() || odyssey::egress::protocol::ReadHostName(sni) == sni);

  // Each prefix of a short input, some 256 of a long one.
  for (size_t end = 0; end < size; end += 1 + size / 256) {
    const auto part = ReadClientHello(input.substr(0, end));
    if (part.state == ClientHelloState::kMore) continue;
    ODY_CHECK(part.state == whole.state);
    ODY_CHECK(part.hello == whole.hello);
  }
  const H2PrefaceState preface = ReadH2Preface(input);
  ODY_CHECK(preface != H2PrefaceState::kYes || whole.state == ClientHelloState::kNotTls);
  return 0;
}
