#include "ctl/tui/dashboard.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ctl/base/sanitize.h"
#include "ctl/cell/cell_name.h"

namespace odyssey::ctl {
namespace {

using Rows = std::vector<StyledLine>;

std::string Safe(const std::string& text) { return Sanitize(text, Lines::kOne); }

StyledLine Text(std::string text, Tint tint = Tint::kPlain) { return {{std::move(text), tint}}; }

// The rows, with a last one that counts those beyond `most`.
Rows Cut(Rows rows, size_t most) {
  if (rows.size() <= most) return rows;
  const size_t hidden = rows.size() - (most == 0 ? 0 : most - 1);
  rows.resize(most);
  if (most > 0) rows.back() = Text("  … " + std::to_string(hidden) + " more", Tint::kDim);
  return rows;
}

Rows CellRows(const TuiState& state) {
  const DashboardData& data = state.dashboard;
  if (!data.cells_failure.empty()) return {Text("  " + data.cells_failure, Tint::kWarn)};
  if (!data.sampled) return {Text("  asking the supervisor", Tint::kDim)};
  if (data.now.cells.cells().empty()) return {Text("  no cells", Tint::kDim)};
  Rows out = {Text("  " + TopSummary(data.before, data.now))};
  for (const std::string& line :
       TopLines(data.before, data.now, TopOrder::kCpu, state.columns - 2, /*color=*/true)) {
    StyledLine row = Text("  ");
    for (Span& span : ParsePainted(line)) row.push_back(std::move(span));
    out.push_back(std::move(row));
  }
  for (const supervisor::v1::CellInfo& cell : data.now.cells.cells()) {
    const auto limits = data.limits.find(cell.cell_id());
    if (limits == data.limits.end() || limits->second.empty()) continue;
    const std::string text = NameOf(cell) + " at most " + limits->second;
    for (StyledLine& row : Wrap(Text(text, Tint::kDim), state.columns - 4)) {
      row.insert(row.begin(), {"  ", Tint::kDim});
      out.push_back(std::move(row));
    }
  }
  return out;
}

Rows WaitingRows(const TuiState& state) {
  Rows out;
  for (const Question& each : state.requests) {
    out.push_back(
        Text("  " + Safe(each.request().tool_name()) + "  " + Safe(each.request().arguments_json()),
             Tint::kWarn));
  }
  if (out.empty()) out.push_back(Text("  none", Tint::kDim));
  return out;
}

Rows SessionRows(const TuiState& state) {
  Rows out;
  for (const agent::v1::Session& session : state.dashboard.sessions) {
    const bool is_shown = state.session && state.session->id() == session.id();
    out.push_back(Text((is_shown ? "▸ " : "  ") + Shorten(Safe(session.id()), 12) + "  " +
                       Safe(session.bundle_ref()) + "  " + std::to_string(session.message_count()) +
                       " messages  " + Safe(session.created_at())));
  }
  if (out.empty()) out.push_back(Text("  none", Tint::kDim));
  return out;
}

Rows DenialRows(const TuiState& state) {
  Rows out;
  for (auto denial = state.denials.rbegin(); denial != state.denials.rend(); ++denial) {
    out.push_back(Text("  " + *denial, Tint::kBad));
  }
  if (out.empty()) out.push_back(Text("  none", Tint::kDim));
  return out;
}

}  // namespace

std::vector<StyledLine> DashboardRows(const TuiState& state, size_t height) {
  struct Part {
    std::string title;
    Rows rows;
    size_t share;  // of the height, in eighths, where there is more
  };
  Part parts[] = {
      {"Cells", CellRows(state), 3},
      {"Approvals that wait: " + std::to_string(state.requests.size()) + " (Ctrl+P)",
       WaitingRows(state), 2},
      {"Denied in this session: " + std::to_string(state.denials.size()), DenialRows(state), 2},
      {"Sessions: " + std::to_string(state.dashboard.sessions.size()), SessionRows(state), 8},
  };
  Rows out;
  for (Part& part : parts) {
    out.push_back(Text(part.title, Tint::kBold));
    for (StyledLine& row :
         Cut(std::move(part.rows), std::max<size_t>(height * part.share / 8, 2))) {
      out.push_back(std::move(row));
    }
  }
  if (out.size() > height) out.resize(height);
  return out;
}

}  // namespace odyssey::ctl
