#include "supervisor/egress/http/head_scanner.h"

namespace odyssey::egress::http {
namespace {

const ParseError kBareCr = {400, "a CR without LF in the head"};
const ParseError kBareLf = {400, "an LF without CR in the head"};
const ParseError kControl = {400, "a control character or a byte above 127 in the head"};
const ParseError kEmptyLine = {400, "the head begins with an empty line"};
const ParseError kLongTarget = {414, "the first line is longer than 8 KiB"};
const ParseError kLongHead = {431, "the head is longer than 64 KiB"};
const ParseError kManyFields = {431, "more than 100 fields"};

}  // namespace

const ParseError* HeadScanner::Step(char c) {
  if (after_cr_) {
    if (c != '\n') return &kBareCr;
    after_cr_ = false;
    if (line_bytes_ == 0) {
      ended_ = lines_ > 0;
      return ended_ ? nullptr : &kEmptyLine;
    }
    line_bytes_ = 0;
    return ++lines_ > kMaxFields + 1 ? &kManyFields : nullptr;
  }
  if (c == '\r') {
    after_cr_ = true;
    return nullptr;
  }
  if (c == '\n') return &kBareLf;
  if (!IsValueCharacter(c, obs_text_)) return &kControl;
  ++line_bytes_;
  return lines_ == 0 && line_bytes_ > kMaxFirstLineBytes ? &kLongTarget : nullptr;
}

Parsed<size_t> HeadScanner::Scan(std::string_view bytes) {
  while (error_ == nullptr && !ended_ && size_ < bytes.size()) {
    error_ = size_ == kMaxHeadBytes ? &kLongHead : Step(bytes[size_]);
    if (error_ == nullptr) ++size_;
  }
  if (error_ != nullptr) return *error_;
  if (ended_) return size_;
  return NeedMore{};
}

}  // namespace odyssey::egress::http
