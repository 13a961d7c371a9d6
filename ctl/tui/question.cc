#include "ctl/tui/question.h"

#include <algorithm>
#include <utility>

#include "ctl/view/approval_view.h"

namespace odyssey::ctl {

Question::Question(std::string session_id, agent::v1::PermissionRequested request)
    : session_id_(std::move(session_id)), request_(std::move(request)) {
  const std::string text = FormatApproval(request_, Extent::kWhole, /*color=*/true);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines_.push_back(ParsePainted(std::string_view(text).substr(begin, end - begin)));
    begin = end + 1;
  }
  unread_ = lines_.size();
}

std::vector<StyledLine> Question::Rows(size_t columns) const {
  std::vector<StyledLine> out;
  for (const StyledLine& line : lines_) {
    for (StyledLine& row : Wrap(line, columns)) out.push_back(std::move(row));
  }
  return out;
}

std::vector<StyledLine> Question::Show(size_t height, size_t columns) const {
  std::vector<StyledLine> rows = Rows(columns);
  const size_t begin = std::min(top_, rows.size());
  const size_t end = std::min(begin + height, rows.size());
  return {rows.begin() + static_cast<std::ptrdiff_t>(begin),
          rows.begin() + static_cast<std::ptrdiff_t>(end)};
}

void Question::Scroll(int rows, size_t height, size_t columns) {
  const size_t count = RowCount(columns);
  const size_t last = count - std::min(count, height);
  const auto step = static_cast<size_t>(rows < 0 ? -rows : rows);
  top_ = rows < 0 ? top_ - std::min(top_, step) : std::min(top_ + step, last);
}

void Question::MarkShown(size_t height, size_t columns, uint64_t now_ms) {
  const size_t count = RowCount(columns);
  if (std::exchange(columns_, columns) != columns) {
    read_ = 0;
    top_ = 0;
  }
  top_ = std::min(top_, count - std::min(count, height));
  // What was skipped was not read.
  if (top_ <= read_) read_ = std::max(read_, std::min(top_ + height, count));
  unread_ = count - read_;
  if (!first_shown_ms_) first_shown_ms_ = now_ms;
}

bool Question::IsRead(uint64_t now_ms) const {
  return !is_sent_ && first_shown_ms_ && now_ms >= *first_shown_ms_ + kReadMs;
}

uint64_t Question::changes_at_ms(uint64_t now_ms) const {
  return first_shown_ms_ && !IsRead(now_ms) && !is_sent_ ? *first_shown_ms_ + kReadMs : 0;
}

std::string Question::KeysText(bool needs_word, uint64_t now_ms) const {
  if (is_sent_) return "answered";
  if (!IsRead(now_ms)) return "read it";
  if (unread_ > 0) {
    return "PgDn " + std::to_string(unread_) + (unread_ == 1 ? " more row" : " more rows") +
           " · n deny";
  }
  if (needs_word) return "type approve: once · n deny";
  if (IsAboutDestination(request_)) return "y this turn · s this session · n deny";
  if (request_.has_grants()) return "y this call · s this session · n deny";
  return "y once · a always · n deny";
}

std::optional<Answered> Question::AnswerOf(char key) const {
  switch (key) {
    case 'y':
      return Answered{.decision = agent::v1::DECISION_ALLOW_ONCE};
    case 'n':
      return Answered{.decision = agent::v1::DECISION_DENY};
    case 'a':
      // Rules are allowed always; an addition to the cell has the session for its end.
      if (request_.has_grants()) return std::nullopt;
      return Answered{.decision = agent::v1::DECISION_ALLOW_ALWAYS};
    case 's':
      if (!request_.has_grants()) return std::nullopt;
      return Answered{.decision = agent::v1::DECISION_ALLOW_ONCE,
                      .grant_scope = agent::v1::GRANT_SCOPE_SESSION};
    default:
      return std::nullopt;
  }
}

}  // namespace odyssey::ctl
