#include "ctl/tui/frame.h"

#include <stdio.h>

#include <algorithm>
#include <string>
#include <utility>

#include "ctl/base/console.h"
#include "ctl/base/sanitize.h"
#include "ctl/tui/dashboard.h"
#include "ctl/tui/slash_command.h"

namespace odyssey::ctl {
namespace {

constexpr char kPrompt[] = "› ";
constexpr size_t kPromptColumns = 2;
constexpr size_t kShortId = 12;
constexpr size_t kHelpColumns = 34;

std::string Safe(const std::string& text) { return Sanitize(text, Lines::kOne); }

StyledLine Text(std::string text, Tint tint = Tint::kPlain) { return {{std::move(text), tint}}; }

struct ViewTitle {
  View view;
  const char* title;
};
constexpr ViewTitle kTitles[] = {
    {View::kApprovals, "Approvals of all sessions   ↑↓ choose   y a n answer   Esc back"},
    {View::kBundles, "Bundles   Enter uses one in the next session   Esc back"},
    {View::kAgents, "Agents   Enter chooses the next session's   Esc back"},
    {View::kSessions, "Sessions   Enter joins one   Esc back"},
    {View::kSkills, "Skills   Esc back"},
    {View::kModels, "Models   Enter chooses an agent that uses it   Esc back"},
    {View::kThemes, "Themes   Enter chooses one   Esc back"},
    {View::kDashboard, "Dashboard   Ctrl+R refreshes   Esc back"},
    {View::kHelp, "Commands and keys   Esc back"},
};

StyledLine TitleOf(View view) {
  for (const ViewTitle& each : kTitles) {
    if (each.view == view) return Text(each.title, Tint::kTitle);
  }
  return {};
}

using Rows = std::vector<StyledLine>;

Rows HelpRows() {
  constexpr std::pair<const char*, const char*> kKeys[] = {
      {"Ctrl+N  Ctrl+R", "new session; load and draw again"},
      {"Enter  Ctrl+S", "take the selected row"},
      {"Tab  Ctrl+O  Ctrl+P", "agents; dashboard; approvals"},
      {"y a n", "answer the request, on an empty line"},
      {"↑ ↓  PgUp PgDn", "what was typed before; scroll"},
      {"Ctrl+X", "cancel the running turn"},
      {"Esc  Ctrl+C", "back, then quit; Ctrl+C ends !command first"},
  };
  Rows out;
  const auto add = [&](std::string_view what, std::string_view does) {
    out.push_back(Fill(Text(std::string(what), Tint::kBold), kHelpColumns));
    out.back().push_back({std::string(does), Tint::kPlain});
  };
  for (const PaletteEntry& form : CommandForms()) add(form.name, form.help);
  for (const auto& [keys, does] : kKeys) add(keys, does);
  return out;
}

Rows ViewerRows(const Viewer& viewer, size_t height) {
  if (viewer.rows.empty()) return {Text(viewer.empty, Tint::kDim)};
  std::vector<std::vector<std::string>> cells;
  for (const Viewer::Row& row : viewer.rows) cells.push_back(row.cells);
  const std::string table = FormatTable(viewer.header, cells);
  Rows out;
  // The selected row is on the screen.
  const size_t shown = height > 1 ? height - 1 : 1;
  const size_t first = viewer.selected < shown ? 0 : viewer.selected - shown + 1;
  size_t line = 0;
  for (size_t begin = 0; begin < table.size(); ++line) {
    const size_t end = table.find('\n', begin);
    const bool is_header = line == 0;
    if (is_header || (line - 1 >= first && line - 1 < first + shown)) {
      const bool selected = !is_header && line - 1 == viewer.selected;
      out.push_back(Text((is_header  ? "  "
                          : selected ? "▸ "
                                     : "  ") +
                             table.substr(begin, end - begin),
                         is_header  ? Tint::kDim
                         : selected ? Tint::kSelected
                                    : Tint::kPlain));
    }
    begin = end + 1;
  }
  return out;
}

Rows RequestRows(const TuiState& state, size_t height) {
  if (state.requests.empty()) return {Text("nothing waits for an answer", Tint::kDim)};
  Rows out;
  const size_t shown = std::max<size_t>(height, 1);
  const size_t first = state.request_selected < shown ? 0 : state.request_selected - shown + 1;
  for (size_t i = first; i < state.requests.size() && out.size() < shown; ++i) {
    const agent::v1::PermissionRequested& request = state.requests[i].request();
    const bool selected = i == state.request_selected;
    out.push_back(Text((selected ? "▸ " : "  ") +
                           Shorten(Safe(state.requests[i].session_id()), kShortId) + "  " +
                           Safe(request.tool_name()) + "  " + Safe(request.arguments_json()),
                       selected ? Tint::kSelected : Tint::kPlain));
  }
  return out;
}

Rows BodyRows(const TuiState& state, size_t height) {
  if (state.view == View::kConversation) {
    Rows rows = state.transcript.Show(height, state.columns).rows;
    if (state.transcript.size() > 0) return rows;
    return {
        Text("Odyssey", Tint::kTitle), Text(""),
        Text(state.bundle.empty() ? "/bundle install [path] installs a bundle, /bundles lists them"
                                  : "the first message makes a session of " + Safe(state.bundle),
             Tint::kDim),
        Text("F1 or /help: commands and keys", Tint::kDim)};
  }
  Rows out = {TitleOf(state.view)};
  const bool has_notice = !state.notice.empty();
  const size_t left = height - std::min(height, size_t{has_notice ? 2U : 1U});
  Rows rows;
  if (state.view == View::kApprovals) {
    rows = RequestRows(state, left);
  } else if (state.view == View::kDashboard) {
    rows = DashboardRows(state, left);
  } else if (state.view == View::kHelp) {
    rows = HelpRows();
  } else if (const auto viewer = state.viewers.find(state.view); viewer != state.viewers.end()) {
    rows = ViewerRows(viewer->second, left);
  } else {
    rows = {Text("loading", Tint::kDim)};
  }
  if (rows.size() > left) rows.resize(left);
  for (StyledLine& row : rows) out.push_back(std::move(row));
  if (has_notice) {
    out.resize(height - 1);
    out.push_back(Text(state.notice, state.notice_tint));
  }
  return out;
}

std::string UsedText(const UsedTokens& used) {
  if (used.input + used.output == 0) return "";
  std::string out =
      " · " + std::to_string(used.input) + "+" + std::to_string(used.output) + " tokens";
  if (!used.has_cost) return out;
  char cost[32];
  snprintf(cost, sizeof(cost), "$%.4f", static_cast<double>(used.cost_microdollars) / 1e6);
  return out + " · " + cost;
}

std::string StateText(const TuiState& state) {
  if (!state.connected) return "connecting";
  if (!state.command.empty()) return "runs !" + Shorten(Safe(state.command), 20);
  if (!state.asked.empty()) return "asks";
  if (!state.running_turn.empty()) return "works";
  return state.session ? "ready" : "no session";
}

StyledLine StatusLine(const TuiState& state) {
  std::string text = " " + StateText(state);
  const size_t waiting = state.requests.size();
  if (waiting > 0)
    text += " · " + std::to_string(waiting) + (waiting == 1 ? " request waits" : " requests wait") +
            " (Ctrl+P)";
  if (state.session) {
    const agent::v1::Session& session = *state.session;
    text += " · " + Shorten(Safe(session.id()), kShortId) + " · " + Safe(session.bundle_ref()) +
            " · " + Safe(session.agent_id()) + " · " +
            Safe(session.model_provider() + "/" + session.model_id());
  } else if (!state.bundle.empty()) {
    text +=
        " · " + Safe(state.bundle) + (state.agent_id.empty() ? "" : " · " + Safe(state.agent_id));
  }
  text += UsedText(state.used);
  if (state.view == View::kConversation && !state.transcript.follows())
    text += " · PgDn or End: the latest";
  return Fill(Text(text, Tint::kBar), state.columns);
}

// Moves with the cursor where it is longer than the screen.
StyledLine InputLine(const TuiState& state, size_t* cursor_column) {
  const TypedLine& typed = state.typed;
  std::string before = Safe(typed.text().substr(0, typed.cursor()));
  const std::string after = Safe(typed.text().substr(typed.cursor()));
  const size_t room = state.columns - kPromptColumns - 1;
  std::string shown = before;
  if (WidthOf(before) > room) {
    shown = "…" + LastColumns(before, room - 1);
  }
  *cursor_column = kPromptColumns + std::min(WidthOf(shown), room);
  return Fit({{kPrompt, Tint::kUser}, {shown + after, Tint::kPlain}}, state.columns);
}

Rows PaletteRows(const TuiState& state, size_t height) {
  if (height == 0) return {};
  const std::vector<PaletteEntry> entries = PaletteOf(state.typed.text());
  Rows out;
  const size_t at = std::min(state.palette, entries.size() - 1);
  const size_t first = at < height ? 0 : at - height + 1;
  for (size_t i = first; i < entries.size() && out.size() < height; ++i) {
    StyledLine row = Fill(Text((i == at ? "▸ /" : "  /") + std::string(entries[i].name),
                               i == at ? Tint::kSelected : Tint::kBold),
                          16);
    row.push_back({std::string(entries[i].help), Tint::kDim});
    out.push_back(std::move(row));
  }
  return out;
}

Frame TooSmall(const TuiState& state) {
  Frame out;
  out.rows.resize(state.rows);
  if (out.rows.empty()) return out;
  const std::string text = "odyssey-ctl tui needs " + std::to_string(kMinColumns) + "×" +
                           std::to_string(kMinRows) + "; this is " + std::to_string(state.columns) +
                           "×" + std::to_string(state.rows);
  const Rows rows = Wrap(Text(text, Tint::kWarn), state.columns);
  for (size_t i = 0; i < rows.size() && i < out.rows.size(); ++i) out.rows[i] = rows[i];
  return out;
}

}  // namespace

Frame Draw(const TuiState& state) {
  if (state.rows < kMinRows || state.columns < kMinColumns) return TooSmall(state);
  const Layout layout = LayoutOf(state);
  Frame out;
  out.rows = BodyRows(state, layout.body);
  out.rows.resize(layout.body);
  if (const Question* const question = ShownQuestion(state)) {
    const bool needs_word = state.pace.NeedsWord(question->request().tool_name(), state.now_ms);
    out.rows.push_back(
        Fill(Text("── " + question->KeysText(needs_word, state.now_ms) + " ", Tint::kWarn),
             state.columns));
    Rows rows = question->Show(layout.question, state.columns);
    rows.resize(layout.question);
    for (StyledLine& row : rows) out.rows.push_back(std::move(row));
  }
  for (StyledLine& row : PaletteRows(state, layout.palette)) out.rows.push_back(std::move(row));
  out.rows.push_back(StatusLine(state));
  out.rows.push_back(InputLine(state, &out.cursor_column));
  out.cursor_row = out.rows.size() - 1;
  for (StyledLine& row : out.rows) row = Fit(row, state.columns);
  return out;
}

}  // namespace odyssey::ctl
