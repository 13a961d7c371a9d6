#include "ctl/tui/typed_line.h"

#include <utility>

#include "common/base/utf8.h"

namespace odyssey::ctl {
namespace {

bool IsInside(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

}  // namespace

void TypedLine::SetHistory(std::vector<std::string> history) {
  if (history.size() > kMaxHistory) {
    history.erase(history.begin(), history.end() - static_cast<std::ptrdiff_t>(kMaxHistory));
  }
  history_ = std::move(history);
  at_ = history_.size();
}

void TypedLine::Set(std::string text) {
  text_ = std::move(text);
  cursor_ = text_.size();
  at_ = history_.size();
}

void TypedLine::Insert(std::string_view text) {
  const std::string valid = SanitizeUtf8(text);
  text_.insert(cursor_, valid);
  cursor_ += valid.size();
}

void TypedLine::Left() {
  if (cursor_ == 0) return;
  do {
    --cursor_;
  } while (cursor_ > 0 && IsInside(text_[cursor_]));
}

void TypedLine::Right() {
  if (cursor_ == text_.size()) return;
  do {
    ++cursor_;
  } while (cursor_ < text_.size() && IsInside(text_[cursor_]));
}

void TypedLine::EraseBefore() {
  const size_t end = cursor_;
  Left();
  text_.erase(cursor_, end - cursor_);
}

void TypedLine::EraseAfter() {
  const size_t begin = cursor_;
  Right();
  text_.erase(begin, cursor_ - begin);
  cursor_ = begin;
}

void TypedLine::EraseWordBefore() {
  const size_t end = cursor_;
  while (cursor_ > 0 && text_[cursor_ - 1] == ' ') --cursor_;
  while (cursor_ > 0 && text_[cursor_ - 1] != ' ') --cursor_;
  text_.erase(cursor_, end - cursor_);
}

void TypedLine::EraseToBegin() {
  text_.erase(0, cursor_);
  cursor_ = 0;
}

void TypedLine::Show(size_t at) {
  if (at_ == history_.size()) draft_ = text_;
  at_ = at;
  text_ = at_ == history_.size() ? draft_ : history_[at_];
  cursor_ = text_.size();
}

void TypedLine::Older() {
  if (at_ > 0) Show(at_ - 1);
}

void TypedLine::Newer() {
  if (at_ < history_.size()) Show(at_ + 1);
}

std::string TypedLine::Take() {
  std::string taken = std::exchange(text_, {});
  cursor_ = 0;
  const bool is_new = history_.empty() || history_.back() != taken;
  if (!taken.empty() && is_new) history_.push_back(taken);
  if (history_.size() > kMaxHistory) history_.erase(history_.begin());
  at_ = history_.size();
  return taken;
}

}  // namespace odyssey::ctl
