#ifndef ODYSSEY_COMMON_BASE_CODEC_H_
#define ODYSSEY_COMMON_BASE_CODEC_H_

// The bounded binary codec of every private protocol (root, cell-init, the file worker).
// Little-endian fixed-width integers; a string is u32 length + bytes; a list is u32 count + items.
// The reader never allocates more than its caller allows and fails for good at the first bad byte.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace odyssey {

class Writer {
 public:
  void U8(uint8_t v) { out_.push_back(static_cast<char>(v)); }
  void U32(uint32_t v) { Raw(&v, sizeof(v)); }
  void U64(uint64_t v) { Raw(&v, sizeof(v)); }
  void Bool(bool v) { U8(v ? 1 : 0); }
  void String(std::string_view v) {
    U32(static_cast<uint32_t>(v.size()));
    out_.append(v);
  }
  void Strings(const std::vector<std::string>& v) {
    U32(static_cast<uint32_t>(v.size()));
    for (const auto& s : v) String(s);
  }
  const std::string& bytes() const { return out_; }
  std::string Take() { return std::move(out_); }

 private:
  void Raw(const void* p, size_t n) { out_.append(static_cast<const char*>(p), n); }
  std::string out_;
};

class Reader {
 public:
  explicit Reader(std::string_view in) : in_(in) {}

  uint8_t U8() { return Fixed<uint8_t>(); }
  uint32_t U32() { return Fixed<uint32_t>(); }
  uint64_t U64() { return Fixed<uint64_t>(); }
  // Anything but 0 and 1 is malformed.
  bool Bool() {
    const uint8_t v = U8();
    if (v > 1) failed_ = true;
    return v == 1;
  }
  // An enum whose last enumerator is `last`; a larger value is malformed.
  template <typename E>
  E Enum(E last) {
    const uint8_t v = U8();
    if (v > static_cast<uint8_t>(last)) failed_ = true;
    return failed_ ? E{} : static_cast<E>(v);
  }
  // A view into the input, at most `max` bytes.
  std::string_view View(uint32_t max) {
    const uint32_t n = U32();
    if (failed_ || n > max || n > in_.size()) {
      failed_ = true;
      return {};
    }
    const std::string_view v = in_.substr(0, n);
    in_.remove_prefix(n);
    return v;
  }
  std::string String(uint32_t max) { return std::string(View(max)); }
  // A list length, at most `max`.
  uint32_t Count(uint32_t max) {
    const uint32_t n = U32();
    if (n > max) failed_ = true;
    return failed_ ? 0 : n;
  }
  std::vector<std::string> Strings(uint32_t max_count, uint32_t max_length) {
    std::vector<std::string> out;
    const uint32_t n = Count(max_count);
    for (uint32_t i = 0; i < n && !failed_; ++i) out.push_back(String(max_length));
    return out;
  }

  bool failed() const { return failed_; }
  // True if nothing failed and every byte was used: trailing data is malformed.
  bool Done() const { return !failed_ && in_.empty(); }

 private:
  template <typename T>
  T Fixed() {
    T v{};
    if (failed_ || in_.size() < sizeof(v)) {
      failed_ = true;
      return T{};
    }
    std::memcpy(&v, in_.data(), sizeof(v));
    in_.remove_prefix(sizeof(v));
    return v;
  }

  std::string_view in_;
  bool failed_ = false;
};

}  // namespace odyssey

#endif  // ODYSSEY_COMMON_BASE_CODEC_H_
