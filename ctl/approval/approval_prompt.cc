#include "ctl/approval/approval_prompt.h"

#include <algorithm>
#include <utility>

#include "common/base/utf8.h"
#include "ctl/base/console.h"
#include "ctl/view/approval_view.h"

namespace odyssey::ctl {
namespace {

constexpr std::string_view kBlank = " \t\r\n";
constexpr char kMargin[] = "    ";
// Rows that a page leaves for the count of what is left, and for the prompt.
constexpr size_t kPromptRows = 3;
constexpr size_t kMinPage = 4;
constexpr size_t kMinColumns = 20;
constexpr char kWord[] = "approve";

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

struct ModeName {
  std::string_view name;
  ApproveMode mode;
};
constexpr ModeName kModes[] = {
    {"ask", ApproveMode::kAsk},         {"all", ApproveMode::kAll},
    {"deny", ApproveMode::kDeny},       {"strict", ApproveMode::kStrict},
    {"interactive", ApproveMode::kAsk}, {"approve_all", ApproveMode::kAll},
};

// "\x1b[1m": of Paint.
size_t PaintLength(std::string_view text) {
  if (text.substr(0, 2) != "\x1b[") return 0;
  const size_t end = text.find('m');
  return end == std::string_view::npos ? 0 : end + 1;
}

void WrapLine(std::string_view line, size_t columns, std::vector<std::string>* out) {
  std::string row;
  for (size_t column = 0; !line.empty();) {
    size_t length = PaintLength(line);
    if (length == 0) {
      const Utf8First character = DecodeUtf8(line);
      length = character.kind == Utf8Kind::kCharacter ? character.length : 1;
      const size_t width = length > 1 ? 2 : 1;
      if (column + width > columns) {
        out->push_back(std::exchange(row, {}));
        column = 0;
      }
      column += width;
    }
    row += line.substr(0, length);
    line.remove_prefix(length);
  }
  out->push_back(std::move(row));
}

std::string CountOf(size_t n) { return std::to_string(n) + (n == 1 ? " line" : " lines"); }

}  // namespace

std::vector<std::string_view> ApproveModeNames() {
  std::vector<std::string_view> out;
  for (const ModeName& known : kModes) out.push_back(known.name);
  return out;
}

ApproveMode ApproveModeOf(std::string_view name) {
  for (const ModeName& known : kModes) {
    if (known.name == name) return known.mode;
  }
  return ApproveMode::kAsk;
}

std::optional<AutomaticAnswer> AnswerWithoutAsking(ApproveMode mode, bool has_terminal,
                                                   const agent::v1::PermissionRequested& request) {
  switch (mode) {
    case ApproveMode::kAll:
      return AutomaticAnswer{{agent::v1::DECISION_ALLOW_ONCE, ""},
                             "allowed, as --approve all says"};
    case ApproveMode::kDeny:
      return AutomaticAnswer{{agent::v1::DECISION_DENY, "denied by the client's --approve deny"},
                             "denied, as --approve deny says"};
    case ApproveMode::kStrict: {
      const std::string& rule = request.rule().empty() ? request.tool_name() : request.rule();
      return AutomaticAnswer{
          {agent::v1::DECISION_DENY, "strict mode: " + rule + " requires approval"},
          "denied, as --approve strict says"};
    }
    case ApproveMode::kAsk:
      break;
  }
  if (has_terminal) return std::nullopt;
  return AutomaticAnswer{{agent::v1::DECISION_DENY, "the client has no terminal to ask on"},
                         "denied: there is no terminal to ask on; --approve all would allow it"};
}

void AllowPace::CountAllow(const std::string& tool, uint64_t now_ms) {
  std::deque<uint64_t>& times = allows_[tool];
  times.push_back(now_ms);
  if (times.size() > kPaceAllows) times.pop_front();
}

bool AllowPace::NeedsWord(const std::string& tool, uint64_t now_ms) const {
  const auto times = allows_.find(tool);
  return times != allows_.end() && times->second.size() == kPaceAllows &&
         now_ms - times->second.front() < kPaceMs;
}

std::vector<std::string> WrapLines(std::string_view text, size_t columns) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    WrapLine(text.substr(0, end), std::max(columns, kMinColumns), &out);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

ApprovalPrompt::ApprovalPrompt(agent::v1::PermissionRequested request, ScreenSize screen,
                               bool needs_word, bool color)
    : request_(std::move(request)),
      lines_(WrapLines(FormatApproval(request_, Extent::kWhole, color), screen.columns)),
      page_(std::max(screen.rows, kMinPage + kPromptRows) - kPromptRows),
      needs_word_(needs_word),
      color_(color) {}

std::string ApprovalPrompt::NextPage() {
  if (next_ == lines_.size()) next_ = 0;
  std::string out;
  const size_t end = std::min(next_ + page_, lines_.size());
  for (; next_ < end; ++next_) out += lines_[next_] + "\n";
  shown_ = std::max(shown_, next_);
  if (next_ == lines_.size()) return out;
  return out + kMargin + "… " + std::to_string(lines_.size() - next_) + " more " +
         (lines_.size() - next_ == 1 ? "line" : "lines") + "; v to view\n";
}

std::string ApprovalPrompt::Begin() { return NextPage(); }

std::string ApprovalPrompt::PromptText() const {
  std::string allow = "y once, a always";
  if (request_.has_grants()) allow = "y this call, s session";
  if (IsAboutDestination(request_)) allow = "y this turn, s session";
  if (needs_word_) allow = std::string(kWord) + " once";
  return Paint("  allow? " + allow + ", n [note] deny, ? help: ", Style::kBold, color_);
}

std::string ApprovalPrompt::Help() const {
  const std::string always = request_.scope().empty() ? "" : ": " + SafeScope(request_);
  std::string out;
  if (needs_word_) {
    out += kMargin + std::string(kWord) + "   allow this call; y, a and s are off after " +
           std::to_string(kPaceAllows) + " allowed calls of this tool in " +
           std::to_string(kPaceMs / 1000) + " s\n";
  } else if (IsAboutDestination(request_)) {
    out += kMargin + std::string("y         let the cell connect until this turn ends\n");
    out += kMargin +
           std::string(
               "s         let it connect for the rest of this session; session revoke takes it "
               "back\n");
  } else if (request_.has_grants()) {
    out += kMargin +
           std::string("y         allow this call, and what it adds to the cell until it ends\n");
    out += kMargin +
           std::string(
               "s         allow it, and what it adds to the cell for the rest of this session; "
               "later calls\n              are asked about as before. "
               "session revoke takes it back\n");
  } else {
    out += kMargin + std::string("y         allow this call, as shown, once\n");
    out += kMargin +
           std::string(
               "a         allow it, and for the rest of this session, without "
               "asking, every call in its scope") +
           always + "\n";
  }
  out += kMargin + std::string("n [note]  deny it; the model reads the note\n");
  out += kMargin + std::string("v         view the next page; at the end, the first\n");
  out += kMargin + std::string("?         this text\n");
  return out;
}

ApprovalPrompt::Step ApprovalPrompt::Allow(Answered answer) const {
  if (all_shown()) return {"", std::move(answer)};
  return {kMargin + CountOf(lines_.size() - shown_) + " not shown yet; v to view\n", std::nullopt};
}

ApprovalPrompt::Step ApprovalPrompt::Type(std::string_view line) {
  const std::string_view typed = Trim(line);
  const std::string_view word = typed.substr(0, typed.find_first_of(kBlank));
  const std::string_view rest = Trim(typed.substr(word.size()));
  if (word == "n" || word == "no") {
    return {"", Answered{agent::v1::DECISION_DENY, SanitizeUtf8(rest)}};
  }
  if (!rest.empty()) return {};
  if (word == "v" || word == "view") return {NextPage(), std::nullopt};
  if (word == "?" || word == "help") return {Help(), std::nullopt};
  const Answered once = {.decision = agent::v1::DECISION_ALLOW_ONCE};
  if (needs_word_ && word == kWord) return Allow(once);
  const bool always = word == "a" || word == "always";
  const bool session = request_.has_grants() && (word == "s" || word == "session");
  if (!always && !session && word != "y" && word != "yes") return {};
  if (needs_word_) return {kMargin + std::string("type ") + kWord + "\n", std::nullopt};
  if (session) {
    return Allow({.decision = agent::v1::DECISION_ALLOW_ONCE,
                  .grant_scope = agent::v1::GRANT_SCOPE_SESSION});
  }
  if (!always) return Allow(once);
  if (request_.has_grants()) {
    const std::string reach = IsAboutDestination(request_) ? "turn" : "call";
    return {kMargin + ("a is for rules; type y for this " + reach + ", or s for the session\n"),
            std::nullopt};
  }
  return Allow({.decision = agent::v1::DECISION_ALLOW_ALWAYS});
}

}  // namespace odyssey::ctl
