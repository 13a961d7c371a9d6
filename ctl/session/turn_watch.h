#ifndef ODYSSEY_CTL_SESSION_TURN_WATCH_H_
#define ODYSSEY_CTL_SESSION_TURN_WATCH_H_

// One turn from its submission to its end: shows its events, answers its approvals, cancels it on
// SIGINT, SIGTERM and SIGHUP.

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "ctl/approval/approval_prompt.h"
#include "ctl/base/console.h"
#include "ctl/base/status_line.h"
#include "ctl/client/client.h"
#include "ctl/session/event_feed.h"
#include "ctl/session/turn_canceller.h"
#include "ctl/view/event_view.h"
#include "ctl/view/turn_activity.h"

namespace odyssey::ctl {

enum class TurnEnd { kCompleted, kFailed, kLost };

struct TurnWatchOptions {
  std::string session_id;
  std::string turn_id;
  uint64_t after = 0;
  ApproveMode approve = ApproveMode::kAsk;
  bool trace = false;         // shows the turn's steps
  int in_fd = 0;              // where a person answers
  bool has_terminal = false;  // whether one is there
  // Without one: a request that expires is left to other clients instead of denied at once.
  bool wait_for_others = false;
};

class TurnWatch final {
 public:
  // `signal_fd`: a non-blocking signalfd of SIGINT, SIGTERM and SIGHUP. All arguments outlive the
  // watch.
  TurnWatch(const Console& console, const Locations& locations, TurnWatchOptions options,
            int signal_fd);
  TurnWatch(const TurnWatch&) = delete;
  TurnWatch& operator=(const TurnWatch&) = delete;

  TurnEnd Run();

 private:
  void OnItem(const EventFeed::Item& item);
  void OnEvent(const agent::v1::Event& event);
  void ShowEvent(const agent::v1::Event& event);
  void OnPermission(const agent::v1::PermissionRequested& request);
  void OnSignal();
  void OnTyping();
  void OnAnswer(const Answered& answer);
  // All that goes to stdout.
  void Print(const std::string& text);
  // What the turn is doing, while it says nothing.
  void ShowActivity();
  // A line of our own, on stderr.
  void Say(const std::string& text);
  // What was typed before a question is not an answer to it.
  void ForgetTyping();
  void ShowQuestion();
  // Ends the line of a question that is on the screen.
  void LeaveQuestion();
  void Resolve(const agent::v1::PermissionRequested& request, const Answered& answer);

  const Console& console_;
  const Locations& locations_;
  const TurnWatchOptions options_;
  const int signal_fd_;
  EventView view_;
  StatusLine status_;
  TurnActivity activity_;
  EventFeed feed_;
  std::deque<agent::v1::PermissionRequested> asked_;  // the first one is being asked
  std::optional<ApprovalPrompt> prompt_;              // of the first one, once it was shown
  AllowPace pace_;
  std::string answer_;  // a line being typed
  bool question_shown_ = false;
  std::optional<TurnEnd> end_;
  int interrupts_ = 0;
  std::optional<TurnCanceller> canceller_;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_SESSION_TURN_WATCH_H_
