#ifndef ODYSSEY_SUPERVISOR_EGRESS_PROTOCOL_H2_PREFACE_H_
#define ODYSSEY_SUPERVISOR_EGRESS_PROTOCOL_H2_PREFACE_H_

// Whether a stream begins as HTTP/2 does (RFC 9113 §3.4).

#include <algorithm>
#include <string_view>

namespace odyssey::egress::protocol {

inline constexpr std::string_view kH2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

enum class H2PrefaceState { kMore, kNo, kYes };

// `stream`: everything received so far. A state other than kMore remains whatever follows.
inline H2PrefaceState ReadH2Preface(std::string_view stream) {
  const size_t size = std::min(stream.size(), kH2Preface.size());
  if (stream.substr(0, size) != kH2Preface.substr(0, size)) return H2PrefaceState::kNo;
  return size == kH2Preface.size() ? H2PrefaceState::kYes : H2PrefaceState::kMore;
}

}  // namespace odyssey::egress::protocol

#endif  // ODYSSEY_SUPERVISOR_EGRESS_PROTOCOL_H2_PREFACE_H_
