#ifndef ODYSSEY_AGENTD_JOB_OUTPUT_RING_H_
#define ODYSSEY_AGENTD_JOB_OUTPUT_RING_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace odyssey::job {

// The latest text of a stream, by the number of bytes that came before it. Text is UTF-8, and no
// character is cut. Pure.
class OutputRing final {
 public:
  struct Piece {
    uint64_t offset = 0;  // of its first byte: later than asked for where that is not kept
    std::string text;
    uint64_t end() const { return offset + text.size(); }
    friend bool operator==(const Piece&, const Piece&) = default;
  };

  explicit OutputRing(size_t capacity) : capacity_(capacity) {}

  void Push(std::string_view text);
  // At most `max_bytes` from `offset` on; with 4 or more there is progress.
  Piece Read(uint64_t offset, size_t max_bytes) const;

  uint64_t begin() const { return end_ - text_.size(); }
  uint64_t end() const { return end_; }

 private:
  const size_t capacity_;
  std::string text_;
  uint64_t end_ = 0;
};

}  // namespace odyssey::job

#endif  // ODYSSEY_AGENTD_JOB_OUTPUT_RING_H_
