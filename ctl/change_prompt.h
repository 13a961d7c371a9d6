#ifndef ODYSSEY_CTL_CHANGE_PROMPT_H_
#define ODYSSEY_CTL_CHANGE_PROMPT_H_

// What a person decides of changes when a command or a turn has ended.

#include "ctl/changes_client.h"
#include "ctl/console.h"

namespace odyssey::ctl {

// At a terminal: shows what changed, and asks whether to commit, choose, keep or discard it. What
// is committed is what was shown. Elsewhere it keeps all, and says on stderr how to go on. False if
// something failed, which was reported. Nothing is said where there are no changes.
bool DecideChanges(const Console& console, const ChangesClient& client);

enum class Decision { kCommit, kChoose, kKeep, kDiscard };
// "c", "h", "k", "d", and the words; empty for anything else.
std::optional<Decision> ParseDecision(std::string_view line);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_CHANGE_PROMPT_H_
