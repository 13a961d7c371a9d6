#ifndef ODYSSEY_CTL_TUI_TUI_LOOP_H_
#define ODYSSEY_CTL_TUI_TUI_LOOP_H_

// The terminal interface's poll loop: keys, signals, the session's events and the answers of
// daemons go through Update; what it asks for is done here. One thread, but for the one that
// EventFeed reads the subscription with. What blocks is the making of a session, the packing of a
// bundle, and the submission of a turn.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "common/os/unique_fd.h"
#include "ctl/base/console.h"
#include "ctl/base/locations.h"
#include "ctl/session/event_feed.h"
#include "ctl/tui/daemon_calls.h"
#include "ctl/tui/own_files.h"
#include "ctl/tui/terminal_screen.h"
#include "ctl/tui/tui_state.h"
#include "ctl/tui/update.h"

namespace odyssey::ctl {

struct TuiOptions {
  std::string bundle;      // as typed
  std::string session_id;  // to join
  std::string cwd;         // of new sessions, as typed
  bool allow_danger = false;
  bool colors = true;
};

class TuiLoop final {
 public:
  // `signal_fd`: a non-blocking signalfd of SIGINT, SIGTERM, SIGHUP and SIGWINCH. `screen` and
  // `locations` outlive the loop.
  TuiLoop(const Console& console, const Locations& locations, TuiOptions options, int signal_fd,
          TerminalScreen* screen);
  TuiLoop(const TuiLoop&) = delete;
  TuiLoop& operator=(const TuiLoop&) = delete;

  // Until the person leaves, a signal ends it, or the terminal is gone.
  void Run();

  // What the person was looking at.
  const TuiState& state() const { return state_; }

 private:
  using Clock = std::chrono::steady_clock;

  void Start();
  void Wait();
  void TakeKeys();
  void TakeSignals();
  void TakeEvents();
  void Tick();
  void Apply(const TuiEvent& event);
  void Show();
  uint64_t NowMs() const;
  int TimeoutMs() const;

  void Do(const CreateSessionOf& what);
  void Do(const JoinSession& what);
  void Do(const SubmitPrompt& what);
  void Do(const CancelRunning& what);
  void Do(const RunInCell& what);
  void Do(const StopCommand& what);
  void Do(const InstallBundle& what);
  void Do(const DescribeBundle& what);
  void Do(const SendAnswerTo& what);
  void Do(const LoadView& what);
  void Do(const SaveTheme& what);
  void Do(const SaveHistory& what);
  void Do(const Redraw& what);
  void Do(const Quit& what);

  // The connection, or nothing once its failure was shown.
  std::optional<Client> Agentd(const std::string& doing);
  void Fail(const Failure& failure);
  // Shows what functions that do not know of the screen have warned of.
  void TellWarnings();
  void Follow(const std::string& session_id, uint64_t after);
  void Resume();  // a feed that has ended
  void Probe();   // whether agentd is there again
  void WatchApprovals();
  void ListApprovals();
  void ListSessions();
  void ListBundles();
  void ListCells();
  void DescribeCells(const supervisor::v1::ListCellsResponse& cells);

  Console console_;  // its warnings go to a pipe
  const Locations& locations_;
  const TuiOptions options_;
  const int signal_fd_;
  TerminalScreen& screen_;
  const OwnFiles files_;
  UniqueFd warnings_, warnings_end_;  // the pipe's
  TuiState state_;
  DaemonCalls calls_;
  std::unique_ptr<EventFeed> feed_;
  bool feed_ended_ = false;
  uint64_t last_sequence_ = 0;
  rpc::H2Call* command_ = nullptr;  // an operator's, that runs
  bool command_started_ = false;
  int stops_ = 0;  // how often it was told to end
  bool watching_ = false, probing_ = false, listing_approvals_ = false, sampling_ = false;
  bool approvals_due_ = false;
  Clock::time_point next_tick_;
  bool over_ = false;
  bool changed_ = true;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_TUI_TUI_LOOP_H_
