#include "ctl/session/turn_watch.h"

#include <errno.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "common/message/event_json.h"
#include "ctl/approval/approval_call.h"
#include "ctl/base/sanitize.h"
#include "ctl/base/terminal.h"

namespace odyssey::ctl {

using agent::v1::Event;

namespace {

// A terminal's line is shorter.
constexpr size_t kMaxTypedBytes = 4096;
constexpr int kActivityMs = 1000;  // without an event, until the status line says what goes on

uint64_t NowMs() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

}  // namespace

TurnWatch::TurnWatch(const Console& console, const Locations& locations, TurnWatchOptions options,
                     int signal_fd)
    : console_(console),
      locations_(locations),
      options_(std::move(options)),
      signal_fd_(signal_fd),
      view_({.color = console.color_out, .steps = options_.trace}),
      status_(console),
      activity_(NowMs()),
      feed_(locations, options_.session_id, options_.after, /*follow=*/true) {}

TurnEnd TurnWatch::Run() {
  while (!end_) {
    pollfd polled[] = {{feed_.fd(), POLLIN, 0},
                       {signal_fd_, POLLIN, 0},
                       {asked_.empty() ? -1 : options_.in_fd, POLLIN, 0}};
    const int ready = poll(polled, 3, status_.visible() ? kActivityMs : -1);
    if (ready < 0 && errno != EINTR) return TurnEnd::kLost;
    if (ready == 0) ShowActivity();
    if (polled[1].revents != 0) OnSignal();
    if (polled[2].revents != 0) OnTyping();
    if (polled[0].revents != 0) OnItem(feed_.Take());
    // A question stays the last thing on the screen.
    if (!end_ && !asked_.empty() && !question_shown_) ShowQuestion();
  }
  LeaveQuestion();
  status_.Erase();
  return *end_;
}

void TurnWatch::OnItem(const EventFeed::Item& item) {
  if (item.event) OnEvent(*item.event);
  if (!item.notice.empty()) Say(Paint(item.notice, Style::kDim, console_.color_err));
  if (item.ended && !end_) {
    status_.Erase();
    if (item.failure) console_.Fail(*item.failure);
    end_ = TurnEnd::kLost;
  }
}

void TurnWatch::ShowEvent(const Event& event) {
  if (console_.json) return console_.PrintJson(message::EventToJson(event));
  // The prompt shows it, by pages.
  if (event.has_permission_requested() && options_.has_terminal &&
      options_.approve == ApproveMode::kAsk) {
    return;
  }
  const std::string text = view_.Show(event);
  if (text.empty()) return;
  LeaveQuestion();
  Print(text);
}

void TurnWatch::Print(const std::string& text) {
  status_.Erase();
  console_.Print(text);
}

void TurnWatch::ShowActivity() {
  if (asked_.empty() && view_.at_line_start()) status_.Show(activity_.Text(NowMs()));
}

void TurnWatch::OnEvent(const Event& event) {
  activity_.See(event, NowMs());
  ShowEvent(event);
  if (event.has_permission_requested()) OnPermission(event.permission_requested());
  if (event.has_approval_resolved()) {
    const std::string& id = event.approval_resolved().request_id();
    if (prompt_ && prompt_->request().request_id() == id) prompt_.reset();
    std::erase_if(asked_, [&](const auto& asked) { return asked.request_id() == id; });
    ForgetTyping();
  }
  const std::string& turn = options_.turn_id;
  if (event.has_turn_completed() && event.turn_completed().turn_id() == turn) {
    end_ = TurnEnd::kCompleted;
  } else if ((event.has_turn_failed() && event.turn_failed().turn_id() == turn) ||
             (event.has_turn_cancelled() && event.turn_cancelled().turn_id() == turn)) {
    end_ = TurnEnd::kFailed;
  }
}

void TurnWatch::OnPermission(const agent::v1::PermissionRequested& request) {
  if (options_.wait_for_others && !options_.has_terminal && request.has_expires_at()) {
    return Say("waits for an answer until " + Sanitize(request.expires_at(), Lines::kOne) +
               ": odyssey-ctl approval allow " + Sanitize(request.request_id(), Lines::kOne));
  }
  const std::optional<AutomaticAnswer> answer =
      AnswerWithoutAsking(options_.approve, options_.has_terminal, request);
  if (answer) {
    Say(answer->notice);
    Resolve(request, answer->answer);
    return;
  }
  asked_.push_back(request);
  if (asked_.size() == 1) ForgetTyping();
}

void TurnWatch::Say(const std::string& text) {
  LeaveQuestion();
  if (!console_.json) Print(view_.FinishLine());
  console_.Warn(text);
}

void TurnWatch::ForgetTyping() {
  answer_.clear();
  tcflush(options_.in_fd, TCIFLUSH);
}

void TurnWatch::ShowQuestion() {
  if (!prompt_) {
    const TerminalSize size = CurrentTerminalSize();
    const agent::v1::PermissionRequested& request = asked_.front();
    prompt_.emplace(request, ScreenSize{size.rows, size.columns},
                    pace_.NeedsWord(request.tool_name(), NowMs()), console_.color_out);
    Print(view_.FinishLine() + prompt_->Begin());
  }
  console_.Print(prompt_->PromptText());
  question_shown_ = true;
}

void TurnWatch::LeaveQuestion() {
  if (std::exchange(question_shown_, false)) console_.Print("\n");
}

void TurnWatch::OnTyping() {
  char bytes[256];
  const ssize_t n = read(options_.in_fd, bytes, sizeof(bytes));
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (n <= 0) {  // Ctrl-D, or the terminal is gone
    LeaveQuestion();
    return OnAnswer({agent::v1::DECISION_DENY, ""});
  }
  answer_.append(bytes, static_cast<size_t>(n));
  if (answer_.find('\n') == std::string::npos && answer_.size() < kMaxTypedBytes) return;
  const std::string line = std::exchange(answer_, "");
  if (!prompt_) return;
  question_shown_ = false;  // the terminal has echoed the newline
  const ApprovalPrompt::Step step = prompt_->Type(line);
  console_.Print(step.text);
  if (step.answer) OnAnswer(*step.answer);
}

void TurnWatch::OnAnswer(const Answered& answer) {
  const agent::v1::PermissionRequested request = std::move(asked_.front());
  asked_.pop_front();
  prompt_.reset();
  ForgetTyping();
  if (answer.decision != agent::v1::DECISION_DENY) pace_.CountAllow(request.tool_name(), NowMs());
  Resolve(request, answer);
}

void TurnWatch::Resolve(const agent::v1::PermissionRequested& asked, const Answered& answer) {
  const AnswerSent sent = SendAnswer(locations_, asked, answer);
  if (sent.failure) console_.Fail(*sent.failure);
  if (sent.answered_already) console_.Warn("it was answered already, or its turn is over");
}

void TurnWatch::OnSignal() {
  signalfd_siginfo info;
  if (read(signal_fd_, &info, sizeof(info)) != static_cast<ssize_t>(sizeof(info))) return;
  if (interrupts_++ == 0) {
    asked_.clear();
    prompt_.reset();
    Say("cancelling the turn; once more to stop watching it");
    canceller_.emplace(console_, locations_, options_.session_id, options_.turn_id);
  } else {
    end_ = TurnEnd::kFailed;
  }
}

}  // namespace odyssey::ctl
