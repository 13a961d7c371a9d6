#include "ctl/tui/transcript.h"

#include <algorithm>
#include <utility>

#include "common/base/utf8.h"
#include "ctl/base/console.h"
#include "ctl/base/sanitize.h"

namespace odyssey::ctl {
namespace {

using agent::v1::Event;

constexpr size_t kOutputWidth = 200;
constexpr size_t kCommandLines = 1000;

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

// The command that an event is of; "" of another event.
std::string ExecIdOf(const Event& event) {
  switch (event.payload_case()) {
    case Event::kExecCommandBegin:
      return event.exec_command_begin().exec_id();
    case Event::kExecCommandOutputDelta:
      return event.exec_command_output_delta().exec_id();
    case Event::kExecCommandEnd:
      return event.exec_command_end().exec_id();
    case Event::kAccessDenied:
      return event.access_denied().denial().exec_id();
    default:
      return "";
  }
}

std::string_view PaintOf(Tint tint) {
  switch (tint) {
    case Tint::kDim:
      return "\x1b[2m";
    case Tint::kBold:
      return "\x1b[1m";
    case Tint::kUser:
      return "\x1b[36m";
    case Tint::kTitle:
      return "\x1b[35m";
    case Tint::kGood:
      return "\x1b[32m";
    case Tint::kBad:
      return "\x1b[31m";
    case Tint::kWarn:
      return "\x1b[33m";
    default:
      return "\x1b[0m";
  }
}

}  // namespace

Transcript::Transcript()
    : view_({.color = true, .width = kOutputWidth}),
      command_view_({.color = true, .width = kOutputWidth, .head_lines = kCommandLines}) {}

void Transcript::NewLine() {
  lines_.emplace_back();
  if (lines_.size() <= kMaxLines) return;
  lines_.pop_front();
  ++dropped_;
}

void Transcript::Append(std::string_view painted) {
  while (!painted.empty()) {
    if (!std::exchange(open_, true)) {
      NewLine();
      lines_.back() = style_;
    }
    const size_t end = std::min(painted.find('\n'), painted.size());
    std::string_view part = painted.substr(0, end);
    // A line without end costs as much as it is long each time it is laid out.
    while (lines_.back().size() + part.size() > kMaxLineBytes) {
      const size_t room = kMaxLineBytes - std::min(kMaxLineBytes, lines_.back().size());
      const size_t fits = CompleteUtf8Prefix(part.substr(0, room));
      lines_.back() += part.substr(0, fits);
      part.remove_prefix(fits);
      NewLine();
    }
    lines_.back() += part;
    if (const size_t at = part.rfind("\x1b["); at != std::string_view::npos) {
      style_ = std::string(part.substr(at, part.find('m', at) + 1 - at));
      if (style_ == "\x1b[0m") style_.clear();
    }
    if (end < painted.size()) open_ = false;
    painted.remove_prefix(std::min(end + 1, painted.size()));
  }
}

void Transcript::Note(std::string_view text, Tint tint) {
  Append(view_.FinishLine() + command_view_.FinishLine());
  const std::string safe = Sanitize(text);
  for (std::string_view rest = safe; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    Append(std::string(PaintOf(tint)) + std::string(rest.substr(0, end)) + "\x1b[0m\n");
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

void Transcript::DropDraft() {
  (void)view_.FinishLine();
  while (draft_line_ && !lines_.empty() && dropped_ + lines_.size() > *draft_line_) {
    lines_.pop_back();
  }
  open_ = false;
}

void Transcript::Add(const Event& event) {
  if (event.has_turn_started()) {
    turn_id_ = event.turn_started().turn_id();
    Append(view_.FinishLine());
    Note("\n", Tint::kPlain);
    Note("› " + event.turn_started().prompt(), Tint::kUser);
  }
  if (event.has_turn_started() || event.has_tool_call_started()) {
    draft_.clear();
    draft_line_.reset();
  }
  if (event.has_agent_message_delta()) {
    if (!draft_line_) {
      Append(view_.FinishLine());
      draft_line_ = dropped_ + lines_.size();
    }
    draft_ += event.agent_message_delta().delta();
  }
  if (event.has_turn_completed() && !Trim(draft_).empty() &&
      Trim(draft_) != Trim(event.turn_completed().message())) {
    DropDraft();
  }
  if (event.has_exec_command_begin() && event.exec_command_begin().job_id().empty() &&
      event.exec_command_begin().turn_id() != turn_id_) {
    operators_.insert(event.exec_command_begin().exec_id());
  }
  const bool is_operators = operators_.count(ExecIdOf(event)) > 0;
  if (event.has_exec_command_end()) operators_.erase(event.exec_command_end().exec_id());
  EventView& view = is_operators ? command_view_ : view_;
  EventView& other = is_operators ? view_ : command_view_;
  // The question has a place of its own, with everything that will run.
  if (event.has_permission_requested()) return Append(view.FinishLine());
  const std::string text = view.Show(event);
  if (text.empty()) return;
  Append(other.FinishLine());
  Append(text);
  if (event.has_turn_completed() || event.has_turn_failed() || event.has_turn_cancelled()) {
    draft_.clear();
    draft_line_.reset();
    turn_id_.clear();
  }
}

std::vector<StyledLine> Transcript::LayOut(size_t line, size_t columns) const {
  return Wrap(ParsePainted(lines_[line - dropped_]), columns);
}

void Transcript::Scroll(int rows, size_t height, size_t columns) {
  const size_t end = dropped_ + lines_.size();
  Place place;
  if (top_) {
    place = {std::max(top_->line, dropped_), top_->line < dropped_ ? 0 : top_->row};
  } else {
    // The place of the excerpt that follows: `height` rows before the end.
    rows -= static_cast<int>(height);
    place = {end, 0};
  }
  for (; rows < 0; ++rows) {
    if (place.row > 0) {
      --place.row;
    } else if (place.line > dropped_) {
      --place.line;
      place.row = LayOut(place.line, columns).size() - 1;
    }
  }
  for (; rows > 0 && place.line < end; --rows) {
    if (++place.row < LayOut(place.line, columns).size()) continue;
    ++place.line;
    place.row = 0;
  }
  top_ = place;
  // At the end, it follows.
  size_t below = 0;
  for (size_t line = place.line; line < end && below <= height + place.row; ++line) {
    below += LayOut(line, columns).size();
  }
  if (below <= height + place.row) top_.reset();
}

Transcript::Excerpt Transcript::Show(size_t height, size_t columns) const {
  Excerpt out;
  const size_t end = dropped_ + lines_.size();
  if (top_) {
    size_t row = top_->line < dropped_ ? 0 : top_->row;
    for (size_t line = std::max(top_->line, dropped_); line < end && out.rows.size() < height;
         ++line) {
      std::vector<StyledLine> rows = LayOut(line, columns);
      ++out.laid_out;
      for (; row < rows.size() && out.rows.size() < height; ++row) {
        out.rows.push_back(std::move(rows[row]));
      }
      row = 0;
    }
    return out;
  }
  for (size_t line = end; line > dropped_ && out.rows.size() < height; --line) {
    std::vector<StyledLine> rows = LayOut(line - 1, columns);
    ++out.laid_out;
    while (!rows.empty() && out.rows.size() < height) {
      out.rows.push_back(std::move(rows.back()));
      rows.pop_back();
    }
  }
  std::reverse(out.rows.begin(), out.rows.end());
  return out;
}

}  // namespace odyssey::ctl
