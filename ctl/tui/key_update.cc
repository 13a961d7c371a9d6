#include "ctl/tui/key_update.h"

#include <algorithm>
#include <optional>

#include "ctl/tui/slash_command.h"
#include "ctl/tui/typed_command.h"

namespace odyssey::ctl {
namespace {

constexpr size_t kMaxTypedBytes = 64 * 1024;

bool IsList(View view) {
  return view != View::kConversation && view != View::kDashboard && view != View::kHelp;
}

// Whether the key was an answer to the question on the screen. Only on an empty line: what is being
// typed goes on.
bool AnswerBy(TuiState* state, const Key& key, std::vector<Effect>* effects) {
  Question* const question = ShownQuestion(state);
  if (question == nullptr || key.code != Key::kText || key.text.size() != 1 ||
      !state->typed.text().empty() || state->pasting) {
    return false;
  }
  const std::optional<Answered> answer = question->AnswerOf(key.text.front());
  if (!answer) return false;
  const bool allows = answer->decision != agent::v1::DECISION_DENY;
  const std::string& tool = question->request().tool_name();
  if (!question->IsRead(state->now_ms)) return true;
  if (allows && !question->MayAllow(state->now_ms)) return true;
  // "approve" is to be typed, which begins with an a.
  if (allows && state->pace.NeedsWord(tool, state->now_ms)) return key.text != "a";
  if (allows) state->pace.CountAllow(tool, state->now_ms);
  question->set_sent(true);
  effects->push_back(SendAnswerTo{question->request(), *answer});
  return true;
}

void MoveSelection(TuiState* state, int by) {
  const auto move = [by](size_t at, size_t count) {
    if (count == 0) return size_t{0};
    if (by < 0) return at - std::min(at, static_cast<size_t>(-by));
    return std::min(at + static_cast<size_t>(by), count - 1);
  };
  if (state->view == View::kApprovals) {
    state->request_selected = move(state->request_selected, state->requests.size());
    return;
  }
  const auto viewer = state->viewers.find(state->view);
  if (viewer == state->viewers.end()) return;
  viewer->second.selected = move(viewer->second.selected, viewer->second.rows.size());
}

void Page(TuiState* state, int direction) {
  const Layout layout = LayoutOf(*state);
  if (Question* const question = ShownQuestion(state)) {
    const int step = static_cast<int>(std::max<size_t>(layout.question, 2)) - 1;
    return question->Scroll(direction * step, layout.question, state->columns);
  }
  const int step = static_cast<int>(std::max<size_t>(layout.body, 2)) - 1;
  if (state->view == View::kConversation) {
    return state->transcript.Scroll(direction * step, layout.body, state->columns);
  }
  MoveSelection(state, direction * step);
}

void OnVertical(TuiState* state, int direction) {
  if (PaletteIsOpen(*state)) {
    const size_t count = PaletteOf(state->typed.text()).size();
    state->palette = (state->palette + (direction < 0 ? count - 1 : 1)) % count;
    return;
  }
  if (IsList(state->view)) return MoveSelection(state, direction);
  direction < 0 ? state->typed.Older() : state->typed.Newer();
}

void CompletePalette(TuiState* state) {
  const std::vector<PaletteEntry> entries = PaletteOf(state->typed.text());
  const size_t at = std::min(state->palette, entries.size() - 1);
  state->typed.Set("/" + std::string(entries[at].name) + " ");
  state->palette = 0;
}

void OnEnter(TuiState* state, std::vector<Effect>* effects) {
  if (state->pasting) return state->typed.Insert("\n");
  if (state->typed.text() == "/") return CompletePalette(state);
  if (state->typed.text().empty()) return ActivateSelected(state, effects);
  state->palette = 0;
  RunTyped(state, state->typed.Take(), effects);
}

// Closes what was opened last.
void OnEscape(TuiState* state, std::vector<Effect>* effects) {
  if (!state->typed.text().empty()) {
    state->typed.Set("");
  } else if (state->view != View::kConversation) {
    ShowView(state, View::kConversation, effects);
  } else {
    effects->push_back(Quit{});
  }
}

void OnControl(TuiState* state, char letter, std::vector<Effect>* effects) {
  switch (letter) {
    case 'c':
      if (state->command.empty()) return effects->push_back(Quit{});
      return effects->push_back(StopCommand{});
    case 'n':
      ShowView(state, View::kConversation, effects);
      return MakeSession(state, effects);
    case 'r':
      effects->push_back(Redraw{});
      return effects->push_back(LoadView{state->view});
    case 's':
      return ActivateSelected(state, effects);
    case 'o':
      return ShowView(state, View::kDashboard, effects);
    case 'p':
      return ShowView(state, View::kApprovals, effects);
    case 'x':
      return CancelTurn(state, effects);
    case 'a':
      return state->typed.Begin();
    case 'e':
      return state->typed.End();
    case 'u':
      return state->typed.EraseToBegin();
    case 'w':
      return state->typed.EraseWordBefore();
    default:
      return;
  }
}

}  // namespace

void OnKey(TuiState* state, const Key& key, std::vector<Effect>* effects) {
  if (AnswerBy(state, key, effects)) return;
  TypedLine& typed = state->typed;
  switch (key.code) {
    case Key::kText:
      if (typed.text().size() + key.text.size() > kMaxTypedBytes) return;
      state->palette = 0;
      return typed.Insert(key.text);
    case Key::kEnter:
      return OnEnter(state, effects);
    case Key::kEscape:
      return OnEscape(state, effects);
    case Key::kTab:
      if (state->pasting) return typed.Insert("\t");
      if (PaletteIsOpen(*state)) return CompletePalette(state);
      return ShowView(state, View::kAgents, effects);
    case Key::kBackspace:
      state->palette = 0;
      return typed.EraseBefore();
    case Key::kDelete:
      return typed.EraseAfter();
    case Key::kUp:
      return OnVertical(state, -1);
    case Key::kDown:
      return OnVertical(state, 1);
    case Key::kLeft:
      return typed.Left();
    case Key::kRight:
      return typed.Right();
    case Key::kHome:
      return typed.Begin();
    case Key::kEnd:
      if (typed.text().empty()) state->transcript.ScrollToEnd();
      return typed.End();
    case Key::kPageUp:
      return Page(state, -1);
    case Key::kPageDown:
      return Page(state, 1);
    case Key::kF1:
      return ShowView(state, View::kHelp, effects);
    case Key::kControl:
      return OnControl(state, key.text.front(), effects);
    case Key::kPasteBegin:
      state->pasting = true;
      return;
    case Key::kPasteEnd:
      state->pasting = false;
      return;
  }
}

}  // namespace odyssey::ctl
