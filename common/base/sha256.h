#ifndef ODYSSEY_COMMON_BASE_SHA256_H_
#define ODYSSEY_COMMON_BASE_SHA256_H_

// SHA-256 (FIPS 180-4), for the digests of bundles and policies. Async-signal-safe but for Hex.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace odyssey {

class Sha256 final {
 public:
  Sha256();
  void Update(std::string_view bytes);
  // 32 bytes as 64 hex digits. Nothing may be added afterwards.
  std::string Hex();

 private:
  void Block(const unsigned char* block);

  std::array<uint32_t, 8> state_;
  std::array<unsigned char, 64> pending_;
  size_t pending_bytes_ = 0;
  uint64_t total_bytes_ = 0;
};

// Of one text.
std::string Sha256Hex(std::string_view bytes);

}  // namespace odyssey

#endif  // ODYSSEY_COMMON_BASE_SHA256_H_
