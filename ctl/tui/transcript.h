#ifndef ODYSSEY_CTL_TUI_TRANSCRIPT_H_
#define ODYSSEY_CTL_TUI_TRANSCRIPT_H_

// The conversation: a session's events as lines, and which of them the screen shows. Pure. An
// excerpt costs what it shows, however many lines there are: they are laid out from its place on.

#include <cstddef>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ctl/tui/styled_line.h"
#include "ctl/view/event_view.h"
#include "odyssey/agent/v1/event.pb.h"

namespace odyssey::ctl {

class Transcript final {
 public:
  static constexpr size_t kMaxLines = 50'000;  // then the oldest are dropped
  static constexpr size_t kMaxLineBytes = 16 * 1024;

  Transcript();

  void Add(const agent::v1::Event& event);
  // Lines of our own; sanitised here.
  void Note(std::string_view text, Tint tint);
  size_t size() const { return lines_.size(); }

  // Moves the excerpt by so many rows of that width, up if it is negative. At the end it follows
  // what is added.
  void Scroll(int rows, size_t height, size_t columns);
  void ScrollToEnd() { top_.reset(); }
  bool follows() const { return !top_; }

  struct Excerpt {
    std::vector<StyledLine> rows;  // at most `height`
    size_t laid_out = 0;           // lines that were, for it
  };
  Excerpt Show(size_t height, size_t columns) const;

 private:
  // A row: of which line, counted from the first there ever was, and which of its rows.
  struct Place {
    size_t line = 0;
    size_t row = 0;
  };
  std::vector<StyledLine> LayOut(size_t line, size_t columns) const;
  void Append(std::string_view painted);
  void NewLine();
  void DropDraft();

  EventView view_;
  EventView command_view_;  // of the operator's commands: more of what they print
  std::deque<std::string> lines_;
  size_t dropped_ = 0;  // lines before the first one
  bool open_ = false;   // the last line goes on
  std::string style_;   // of Paint, that goes on in the next line
  std::string turn_id_;
  std::set<std::string> operators_;  // commands that run outside the turns
  // What the model has said since the turn began, or its last call, and where that begins.
  std::string draft_;
  std::optional<size_t> draft_line_;
  std::optional<Place> top_;  // nothing: the end is shown
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_TUI_TRANSCRIPT_H_
