#include "agentd/job/output_ring.h"

#include <algorithm>

#include "common/base/utf8.h"

namespace odyssey::job {
namespace {

// Where a character begins, at `at` or behind it.
size_t CharacterFrom(std::string_view text, size_t at) {
  while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
  return at;
}

}  // namespace

// Cut when it is twice as large as it may be, so that a byte is moved once.
void OutputRing::Push(std::string_view text) {
  text_ += text;
  end_ += text.size();
  if (text_.size() < 2 * capacity_) return;
  text_.erase(0, CharacterFrom(text_, text_.size() - capacity_));
}

OutputRing::Piece OutputRing::Read(uint64_t offset, size_t max_bytes) const {
  const uint64_t asked = std::clamp(offset, begin(), end_);
  const size_t from = CharacterFrom(text_, static_cast<size_t>(asked - begin()));
  std::string text = text_.substr(from, max_bytes);
  text.resize(CompleteUtf8Prefix(text));
  return {begin() + from, std::move(text)};
}

}  // namespace odyssey::job
