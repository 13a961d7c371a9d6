#ifndef ODYSSEY_CTL_TUI_UPDATE_H_
#define ODYSSEY_CTL_TUI_UPDATE_H_

// What a key, an event or an answer of a daemon changes, and what is to be done for it. Pure: no
// terminal, no connection, no clock.

#include <string>
#include <variant>
#include <vector>

#include "ctl/base/console.h"
#include "ctl/tui/tui_state.h"
#include "odyssey/agent/v1/approval.pb.h"
#include "odyssey/agent/v1/event.pb.h"

namespace odyssey::ctl {

struct Key {
  enum Code {
    kText,  // of `text`
    kEnter,
    kEscape,
    kTab,
    kBackspace,
    kDelete,
    kUp,
    kDown,
    kLeft,
    kRight,
    kHome,
    kEnd,
    kPageUp,
    kPageDown,
    kF1,
    kControl,  // with the letter in `text`
    kPasteBegin,
    kPasteEnd,
  };
  Code code = kText;
  std::string text;
};

struct Resized {
  size_t rows = 0, columns = 0;
};
struct ClockTick {};
// About the connection, or of a call of our own.
struct Told {
  std::string text;
  Tint tint = Tint::kDim;
};
struct Connection {
  bool up = true;
};
// Made or joined. Its events follow.
struct SessionOpened {
  agent::v1::Session session;
};
struct SessionNotOpened {
  Failure failure;
};
struct SessionGone {};
struct BundleInstalled {
  agent::v1::Bundle bundle;
};
struct BundleDescribed {
  std::string reference;
  agent::v1::Bundle bundle;
};
struct BundlesListed {
  agent::v1::ListBundlesResponse bundles;
};
struct SessionsListed {
  agent::v1::ListSessionsResponse sessions;
};
// All that wait.
struct ApprovalsListed {
  agent::v1::ListApprovalsResponse approvals;
};
struct CellsListed {
  CellSample sample;
  std::string failure;  // in place of it
};
struct CellDescribed {
  std::string cell_id;
  std::string limits;
};
struct Answer {
  std::string request_id;
  bool failed = false;
  std::string text;
};
struct CommandEnded {
  std::string failure;  // it did not begin
};

using TuiEvent =
    std::variant<Key, Resized, ClockTick, Told, Connection, agent::v1::Event, SessionOpened,
                 SessionNotOpened, SessionGone, BundleInstalled, BundleDescribed, BundlesListed,
                 SessionsListed, ApprovalsListed, CellsListed, CellDescribed, Answer, CommandEnded>;

// What the loop is to do.
struct CreateSessionOf {
  std::string bundle, agent_id, cwd;
};
struct JoinSession {
  std::string id;
};
struct SubmitPrompt {
  std::string session_id, prompt;
};
struct CancelRunning {
  std::string session_id, turn_id;
};
struct RunInCell {
  std::string session_id, command;
};
struct StopCommand {};
struct InstallBundle {
  std::string path;
};
struct DescribeBundle {
  std::string reference;
};
struct SendAnswerTo {
  agent::v1::PermissionRequested request;
  Answered answer;
};
struct LoadView {
  View view;
};
struct SaveTheme {
  std::string theme;
};
struct SaveHistory {};
struct Redraw {};
struct Quit {};

using Effect = std::variant<CreateSessionOf, JoinSession, SubmitPrompt, CancelRunning, RunInCell,
                            StopCommand, InstallBundle, DescribeBundle, SendAnswerTo, LoadView,
                            SaveTheme, SaveHistory, Redraw, Quit>;

// `now_ms`: of a clock that only grows.
std::vector<Effect> Update(TuiState* state, const TuiEvent& event, uint64_t now_ms);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_TUI_UPDATE_H_
