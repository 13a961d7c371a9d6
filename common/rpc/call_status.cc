#include "common/rpc/call_status.h"

#include <nghttp2/nghttp2.h>

#include <charconv>

#include "common/rpc/error_details.h"

namespace odyssey::rpc {
namespace {

constexpr int kHighestCode = static_cast<int>(Code::kUnauthenticated);
constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// A stream that ended without a status.
Status WithoutStatus(const std::string& http_status, uint32_t error) {
  if (!http_status.empty() && http_status != "200") {
    return Internal("the server answered with HTTP status " + http_status);
  }
  switch (error) {
    case NGHTTP2_NO_ERROR:
      return Internal("the server sent no status");
    case NGHTTP2_CANCEL:
      return Cancelled("the server cancelled the call");
    case NGHTTP2_REFUSED_STREAM:
      return Unavailable("the server takes no more calls").With({.hint = kHintConnectionLost});
    default:
      return Internal(std::string("HTTP/2 stream: ") + nghttp2_http2_strerror(error));
  }
}

}  // namespace

void CallStatus::Add(std::string_view name, std::string_view value) {
  if (name == ":status") http_status_ = value;
  if (name == "grpc-status") code_ = value;
  if (name == "grpc-message") message_ = DecodePercent(value);
  if (name == "grpc-status-details-bin") details_ = DecodeBase64(value);
}

Status CallStatus::Get(uint32_t error) const {
  if (code_.empty()) return WithoutStatus(http_status_, error);
  int code = -1;
  const char* const end = code_.data() + code_.size();
  const std::from_chars_result read = std::from_chars(code_.data(), end, code);
  if (read.ptr != end || code < 0 || code > kHighestCode) {
    return {Code::kUnknown, "grpc-status " + code_ + ": not a status code"};
  }
  if (code == 0) return OkStatus();
  return FromWire(static_cast<Code>(code), message_, details_);
}

std::string DecodePercent(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    const char* const digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string DecodeBase64(std::string_view text) {
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  std::string out;
  uint32_t bits = 0;
  unsigned count = 0;
  for (const char letter : text) {
    const size_t value = kBase64.find(letter);
    if (value == kBase64.npos) return "";
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xff);
  }
  return out;
}

}  // namespace odyssey::rpc
