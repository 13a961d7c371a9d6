#ifndef ODYSSEY_CTL_TUI_TYPED_LINE_H_
#define ODYSSEY_CTL_TUI_TYPED_LINE_H_

// The line that a person types, and those typed before. Pure.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace odyssey::ctl {

inline constexpr size_t kMaxHistory = 500;

class TypedLine final {
 public:
  // The oldest first.
  void SetHistory(std::vector<std::string> history);
  const std::vector<std::string>& history() const { return history_; }

  const std::string& text() const { return text_; }
  // Bytes of the text that stand before the cursor.
  size_t cursor() const { return cursor_; }

  void Set(std::string text);
  void Insert(std::string_view text);
  void EraseBefore();
  void EraseAfter();
  void EraseWordBefore();
  void EraseToBegin();
  void Left();
  void Right();
  void Begin() { cursor_ = 0; }
  void End() { cursor_ = text_.size(); }

  // The line typed before, or after, the one that is shown; what was being typed is kept, and is
  // the last of them.
  void Older();
  void Newer();

  // Takes the text; it is the latest of the history, unless it is empty or was the latest.
  std::string Take();

 private:
  void Show(size_t at);

  std::string text_;
  size_t cursor_ = 0;
  std::vector<std::string> history_;
  size_t at_ = 0;      // in the history; its size: what is being typed
  std::string draft_;  // kept while one of the history is shown
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_TUI_TYPED_LINE_H_
