#ifndef ODYSSEY_CTL_APPROVAL_APPROVAL_PROMPT_H_
#define ODYSSEY_CTL_APPROVAL_APPROVAL_PROMPT_H_

// How approvals that a turn asks for are answered while it is watched. Pure.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "odyssey/agent/v1/approval.pb.h"

namespace odyssey::ctl {

enum class ApproveMode { kAsk, kAll, kDeny, kStrict };

// The words of --approve, those of llm-do among them.
std::vector<std::string_view> ApproveModeNames();
// Of a name that ApproveModeNames has, or "" for the default.
ApproveMode ApproveModeOf(std::string_view name);

struct Answered {
  agent::v1::Decision decision = agent::v1::DECISION_UNSPECIFIED;
  std::string note;  // for the model, with a denial
  // Of a request with grants that is allowed; unspecified: this call.
  agent::v1::GrantScope grant_scope = agent::v1::GRANT_SCOPE_UNSPECIFIED;
};

struct AutomaticAnswer {
  Answered answer;
  std::string notice;  // for the person
};

// The answer that needs no person; empty if one is to be asked. Without a terminal the request is
// denied.
std::optional<AutomaticAnswer> AnswerWithoutAsking(ApproveMode mode, bool has_terminal,
                                                   const agent::v1::PermissionRequested& request);

// Allowed requests of each tool, and when the next one needs a typed word: a person who has typed
// "y" kPaceAllows times in kPaceMs no longer reads.
inline constexpr size_t kPaceAllows = 3;
inline constexpr uint64_t kPaceMs = 60'000;
class AllowPace final {
 public:
  void CountAllow(const std::string& tool, uint64_t now_ms);
  bool NeedsWord(const std::string& tool, uint64_t now_ms) const;

 private:
  std::map<std::string, std::deque<uint64_t>> allows_;
};

// How much of a text a terminal shows at a time.
struct ScreenSize {
  size_t rows = 24;
  size_t columns = 80;
};

// `text`, a line of which may be wider than the screen, in lines of at most `columns` columns.
// Sequences that Paint makes take none; a character that is not ASCII counts as two.
std::vector<std::string> WrapLines(std::string_view text, size_t columns);

// One question on a terminal, from its text to its answer.
class ApprovalPrompt final {
 public:
  // `needs_word`: "approve" is to be typed instead of y.
  ApprovalPrompt(agent::v1::PermissionRequested request, ScreenSize screen, bool needs_word,
                 bool color);

  // What is to be printed for one typed line, and the answer if it was one. An empty line changes
  // nothing.
  struct Step {
    std::string text;
    std::optional<Answered> answer;
  };
  Step Type(std::string_view line);

  // The first page.
  std::string Begin();
  // What stands before the cursor.
  std::string PromptText() const;

  const agent::v1::PermissionRequested& request() const { return request_; }

 private:
  std::string NextPage();
  std::string Help() const;
  bool all_shown() const { return shown_ == lines_.size(); }
  Step Allow(Answered answer) const;

  const agent::v1::PermissionRequested request_;
  const std::vector<std::string> lines_;
  const size_t page_;
  const bool needs_word_;
  const bool color_;
  size_t next_ = 0;   // the first line of the next page
  size_t shown_ = 0;  // lines from the first on that were printed
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_APPROVAL_APPROVAL_PROMPT_H_
