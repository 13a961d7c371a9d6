#ifndef ODYSSEY_CTL_TUI_TUI_STATE_H_
#define ODYSSEY_CTL_TUI_TUI_STATE_H_

// Everything that the screen shows, as one value. update.h changes it, frame.h draws it.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ctl/cell/cell_top.h"
#include "ctl/tui/question.h"
#include "ctl/tui/styled_line.h"
#include "ctl/tui/transcript.h"
#include "ctl/tui/typed_line.h"
#include "odyssey/agent/v1/bundle.pb.h"
#include "odyssey/agent/v1/session.pb.h"

namespace odyssey::ctl {

enum class View {
  kConversation,
  kDashboard,
  kApprovals,
  kBundles,
  kAgents,
  kSessions,
  kSkills,
  kModels,
  kThemes,
  kHelp,
};

// A list that a person selects from. All text is sanitised.
struct Viewer {
  struct Row {
    std::string id;  // as it is; not shown
    std::vector<std::string> cells;
  };
  std::vector<std::string> header;
  std::vector<Row> rows;
  std::string empty;  // what stands there without a row
  size_t selected = 0;
};

struct DashboardData {
  CellSample before, now;
  bool sampled = false;
  std::string cells_failure;                  // why there are none
  std::map<std::string, std::string> limits;  // by cell id, in words
  std::vector<agent::v1::Session> sessions;
};

// Tokens and cost of the turns that were seen.
struct UsedTokens {
  uint64_t input = 0, output = 0;
  uint64_t cost_microdollars = 0;
  bool has_cost = false;
};

struct TuiState {
  size_t rows = 24, columns = 80;
  uint64_t now_ms = 0;
  View view = View::kConversation;
  std::string theme;
  std::vector<std::string> themes;

  TypedLine typed;
  bool pasting = false;
  size_t palette = 0;  // the selected one

  std::string cwd;                             // of new sessions, as typed
  std::string bundle;                          // of new sessions, as typed
  std::string agent_id;                        // likewise; "": the bundle's default
  std::optional<agent::v1::Bundle> described;  // the bundle, where it is installed
  std::optional<agent::v1::Session> session;
  std::string unsent;  // what is typed for a session that is being made
  bool creating = false;
  bool connected = true;

  Transcript transcript;
  std::string running_turn;
  std::string command;  // an operator's, that runs
  UsedTokens used;
  std::deque<std::string> denials;  // the latest, sanitised

  std::deque<Question> asked;      // of the session; the first one is shown
  std::vector<Question> requests;  // of all sessions, the oldest first
  size_t request_selected = 0;
  AllowPace pace;

  std::map<View, Viewer> viewers;
  DashboardData dashboard;
  std::string notice;  // about what was typed last, where the conversation is not shown
  Tint notice_tint = Tint::kPlain;
};

// How the screen is divided.
inline constexpr size_t kMinRows = 16, kMinColumns = 60;
struct Layout {
  size_t body = 0;      // rows of the view
  size_t question = 0;  // rows of the question below it, its title not counted
  size_t palette = 0;
};
Layout LayoutOf(const TuiState& state);

// The question that is on the screen; nullptr: none.
const Question* ShownQuestion(const TuiState& state);
Question* ShownQuestion(TuiState* state);

// "/t": what the palette offers.
bool PaletteIsOpen(const TuiState& state);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_TUI_TUI_STATE_H_
