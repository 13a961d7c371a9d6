#ifndef ODYSSEY_AGENTD_SESSION_TURN_TRACE_H_
#define ODYSSEY_AGENTD_SESSION_TURN_TRACE_H_

// How long the steps of a turn took, and what they decided: the events turn_step. One thread at a
// time.

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "odyssey/agent/v1/event.pb.h"

namespace odyssey::session {

// In their order. docs/EVENTS.md has the same names.
enum class TurnStep {
  kLoadSession,
  kResolveBundle,
  kChooseMode,
  kPrepareCell,
  kBuildRules,
  kBuildPrompt,
  kSelectTools,
  kResolveModel,
  kBuildMemory,
  kRunExecutor,
  kCollectHistory,
  kPersistTurn,
  kModelCall,  // within kBuildMemory and kRunExecutor, any number
};

inline constexpr std::string_view kTurnSteps[] = {
    "load_session",    "resolve_bundle", "choose_mode",   "prepare_cell", "build_rules",
    "build_prompt",    "select_tools",   "resolve_model", "build_memory", "run_executor",
    "collect_history", "persist_turn",   "model_call"};

inline std::string_view StepName(TurnStep step) { return kTurnSteps[static_cast<size_t>(step)]; }

class TurnTrace final {
 public:
  // Ends the step that runs and begins another. A step that is entered again goes on.
  void Enter(TurnStep step);
  // What the step that runs has decided.
  void Note(const std::string& detail);
  // Ends it.
  void Leave();

  // The steps that have ended since the last call, in the order of TurnStep: the setup works in
  // another one, since a cell is made when everything else is known to be right.
  std::vector<agent::v1::TurnStep> Take(const std::string& turn_id);

 private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    TurnStep step;
    Clock::duration took{0};
    std::string detail;
  };
  Entry& Find(TurnStep step);

  std::vector<Entry> entries_;
  bool running_ = false;
  TurnStep step_ = TurnStep::kLoadSession;
  Clock::time_point since_;
};

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_TURN_TRACE_H_
