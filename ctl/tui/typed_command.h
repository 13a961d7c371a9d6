#ifndef ODYSSEY_CTL_TUI_TYPED_COMMAND_H_
#define ODYSSEY_CTL_TUI_TYPED_COMMAND_H_

// What a typed line does: a message for the agent, "/…", or "!…". Pure.

#include <string>
#include <vector>

#include "ctl/tui/update.h"

namespace odyssey::ctl {

void RunTyped(TuiState* state, const std::string& line, std::vector<Effect>* effects);
// The selected row of the viewer that is shown.
void ActivateSelected(TuiState* state, std::vector<Effect>* effects);
void ShowView(TuiState* state, View view, std::vector<Effect>* effects);
// The running turn.
void CancelTurn(TuiState* state, std::vector<Effect>* effects);
void MakeSession(TuiState* state, std::vector<Effect>* effects);
// What was typed for the session that is there now.
void SendUnsent(TuiState* state, std::vector<Effect>* effects);

// A line for the person: in the conversation, and where that is not shown, below the view.
void Tell(TuiState* state, const std::string& text, Tint tint);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_TUI_TYPED_COMMAND_H_
