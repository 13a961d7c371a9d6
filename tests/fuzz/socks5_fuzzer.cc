// SOCKS5 is whatever a command sends to the proxy's port: no crash, the same byte by byte as at
// once, and only hosts without a NUL or another character that no name and no address has.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "supervisor/egress/protocol/socks5.h"

using odyssey::egress::protocol::Socks5;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  Socks5 whole;
  const size_t taken = whole.Feed(input);
  ODY_CHECK(taken <= size);
  ODY_CHECK(taken == size || whole.state() != Socks5::State::kMore);

  Socks5 parts;
  size_t taken_in_parts = 0;
  for (size_t i = 0; i < size; ++i) taken_in_parts += parts.Feed(input.substr(i, 1));
  ODY_CHECK(taken_in_parts == taken);
  ODY_CHECK(parts.state() == whole.state());
  ODY_CHECK(parts.destination() == whole.destination());
  ODY_CHECK(parts.TakeOutput() == whole.TakeOutput());

  const std::string& host = whole.destination().host;
  ODY_CHECK(host.empty() == (whole.state() != Socks5::State::kRequest));
  ODY_CHECK(host.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_.:") ==
            std::string::npos);
  return 0;
}
