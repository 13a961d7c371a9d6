#include "ctl/base/terminal_filter.h"

#include <algorithm>
#include <utility>

#include "common/base/utf8.h"
#include "ctl/base/sanitize.h"

namespace odyssey::ctl {
namespace {

constexpr std::string_view kBegin = "\x1b[";
constexpr std::string_view kReset = "\x1b[0m";

// Longer ones are none that a program means.
constexpr size_t kMaxSequence = 64;

enum class Kind { kNone, kCut, kColour, kClearLine };

struct Sequence {
  Kind kind = Kind::kNone;
  size_t length = 0;
};

// At the beginning of `text`.
Sequence FindSequence(std::string_view text) {
  if (text.size() < kBegin.size() && kBegin.substr(0, text.size()) == text) return {Kind::kCut, 0};
  if (text.substr(0, kBegin.size()) != kBegin) return {};
  const size_t end = text.find_first_not_of("0123456789;:", kBegin.size());
  if (std::min(end, text.size()) > kMaxSequence) return {};
  if (end == std::string_view::npos) return {Kind::kCut, 0};
  if (text[end] == 'm') return {Kind::kColour, end + 1};
  if (text[end] == 'K') return {Kind::kClearLine, end + 1};
  return {};
}

// Of characters that a terminal shows, or moves within a line or to the next by.
bool IsPlain(uint32_t code) {
  if (code < 0x20) return code == '\n' || code == '\t' || code == '\r' || code == '\b';
  return code < 0x7F || code >= 0xA0;
}

}  // namespace

std::string TerminalFilter::Pass(std::string_view bytes) {
  const std::string joined = std::exchange(held_, "") + std::string(bytes);
  std::string out;
  out.reserve(joined.size());
  for (std::string_view text = joined; !text.empty();) {
    const Sequence sequence = FindSequence(text);
    const Utf8First character = DecodeUtf8(text);
    if (sequence.kind == Kind::kCut || character.kind == Utf8Kind::kCut) {
      held_ = text;
      break;
    }
    const bool passes = sequence.kind != Kind::kNone ||
                        (character.kind == Utf8Kind::kCharacter && IsPlain(character.code));
    const std::string_view part =
        text.substr(0, sequence.kind != Kind::kNone ? sequence.length : character.length);
    if (passes) {
      out += part;
    } else {
      out += Sanitize(part);
    }
    styled_ = styled_ || sequence.kind == Kind::kColour;
    text.remove_prefix(part.size());
  }
  return out;
}

std::string TerminalFilter::Finish() {
  std::string out = Sanitize(std::exchange(held_, ""));
  if (std::exchange(styled_, false)) out += kReset;
  return out;
}

}  // namespace odyssey::ctl
