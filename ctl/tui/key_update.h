#ifndef ODYSSEY_CTL_TUI_KEY_UPDATE_H_
#define ODYSSEY_CTL_TUI_KEY_UPDATE_H_

#include <vector>

#include "ctl/tui/update.h"

namespace odyssey::ctl {

// What a key does where it is pressed. Pure.
void OnKey(TuiState* state, const Key& key, std::vector<Effect>* effects);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_TUI_KEY_UPDATE_H_
