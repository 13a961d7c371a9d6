#ifndef ODYSSEY_SUPERVISOR_EGRESS_PROTOCOL_NETWORK_READER_H_
#define ODYSSEY_SUPERVISOR_EGRESS_PROTOCOL_NETWORK_READER_H_

// Reads integers in network byte order and strings of given lengths. Fails for good at the first
// byte that is missing; what it returns then is zero or empty.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace odyssey::egress::protocol {

class NetworkReader final {
 public:
  explicit NetworkReader(std::string_view in) : in_(in) {}

  uint8_t U8() { return static_cast<uint8_t>(Integer(1)); }
  uint16_t U16() { return static_cast<uint16_t>(Integer(2)); }
  uint32_t U24() { return Integer(3); }
  std::string_view View(size_t size) {
    if (failed_ || in_.size() < size) {
      failed_ = true;
      return {};
    }
    const std::string_view bytes = in_.substr(0, size);
    in_.remove_prefix(size);
    return bytes;
  }

  void Fail() { failed_ = true; }
  bool failed() const { return failed_; }
  std::string_view rest() const { return in_; }
  // Nothing failed and every byte was read.
  bool Done() const { return !failed_ && in_.empty(); }

 private:
  uint32_t Integer(size_t size) {
    uint32_t value = 0;
    for (const char c : View(size)) value = value << 8 | static_cast<unsigned char>(c);
    return value;
  }

  std::string_view in_;
  bool failed_ = false;
};

}  // namespace odyssey::egress::protocol

#endif  // ODYSSEY_SUPERVISOR_EGRESS_PROTOCOL_NETWORK_READER_H_
