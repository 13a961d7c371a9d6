#include "ctl/tui/tui_state.h"

#include <algorithm>

#include "ctl/tui/slash_command.h"

namespace odyssey::ctl {
namespace {

constexpr size_t kBars = 2;         // status and input
constexpr size_t kRequestRows = 6;  // of the list above the selected request
constexpr size_t kPaletteRows = 9;  // at most

}  // namespace

bool PaletteIsOpen(const TuiState& state) { return !PaletteOf(state.typed.text()).empty(); }

const Question* ShownQuestion(const TuiState& state) {
  if (state.view == View::kApprovals) {
    return state.requests.empty()
               ? nullptr
               : &state.requests[std::min(state.request_selected, state.requests.size() - 1)];
  }
  if (state.view != View::kConversation || state.asked.empty()) return nullptr;
  return &state.asked.front();
}

Question* ShownQuestion(TuiState* state) {
  return const_cast<Question*>(ShownQuestion(static_cast<const TuiState&>(*state)));
}

Layout LayoutOf(const TuiState& state) {
  Layout out;
  out.body = state.rows - std::min(state.rows, kBars);
  if (PaletteIsOpen(state)) {
    out.palette = std::min({PaletteOf(state.typed.text()).size(), kPaletteRows, out.body / 2});
    out.body -= out.palette;
  }
  const Question* const question = ShownQuestion(state);
  if (question == nullptr) return out;
  const size_t title = 1;
  if (state.view == View::kApprovals) {
    const size_t list = std::min({state.requests.size() + 1, kRequestRows, out.body / 2});
    out.question = out.body - std::min(out.body, list + title);
  } else {
    const size_t most = out.body - out.body / 3;
    out.question = std::min(question->RowCount(state.columns), most - title);
  }
  out.body -= out.question + title;
  return out;
}

}  // namespace odyssey::ctl
