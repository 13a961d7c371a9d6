#ifndef ODYSSEY_CTL_TUI_QUESTION_H_
#define ODYSSEY_CTL_TUI_QUESTION_H_

// A request for approval on the screen, and when a key may answer it. Pure.
//
// A yes is to what was shown: it is taken once the last row of the request was on the screen, and
// it carries the request's digest (ADR 0049). A key that was typed before a person can have read
// the question is no answer to it: nothing is taken in its first kReadMs.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ctl/approval/approval_prompt.h"
#include "ctl/tui/styled_line.h"
#include "odyssey/agent/v1/approval.pb.h"

namespace odyssey::ctl {

class Question final {
 public:
  static constexpr uint64_t kReadMs = 500;

  Question(std::string session_id, agent::v1::PermissionRequested request);

  const std::string& session_id() const { return session_id_; }
  const agent::v1::PermissionRequested& request() const { return request_; }

  // Its rows from the top of the pane on.
  std::vector<StyledLine> Show(size_t height, size_t columns) const;
  size_t RowCount(size_t columns) const { return Rows(columns).size(); }
  void Scroll(int rows, size_t height, size_t columns);
  // What Show gives was on the screen at `now_ms`. Another width begins anew.
  void MarkShown(size_t height, size_t columns, uint64_t now_ms);

  // Rows that were never on the screen.
  size_t unread() const { return unread_; }
  // Whether a key may allow it, or deny it.
  bool IsRead(uint64_t now_ms) const;
  bool MayAllow(uint64_t now_ms) const { return IsRead(now_ms) && unread_ == 0; }
  // When the next of the two changes; 0: it does not by time.
  uint64_t changes_at_ms(uint64_t now_ms) const;

  bool is_sent() const { return is_sent_; }
  void set_sent(bool sent) { is_sent_ = sent; }

  // The keys, for the person: "y once · a always · n deny". `needs_word`: see AllowPace.
  std::string KeysText(bool needs_word, uint64_t now_ms) const;
  // What a key answers: y, n, and a, or s where the request adds to the cell.
  std::optional<Answered> AnswerOf(char key) const;

 private:
  std::vector<StyledLine> Rows(size_t columns) const;

  std::string session_id_;
  agent::v1::PermissionRequested request_;
  std::vector<StyledLine> lines_;
  size_t top_ = 0;
  size_t columns_ = 0;  // of which rows are counted
  size_t read_ = 0;     // rows from the first on that were on the screen
  size_t unread_ = 0;
  std::optional<uint64_t> first_shown_ms_;
  bool is_sent_ = false;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_TUI_QUESTION_H_
