#ifndef ODYSSEY_AGENTD_SESSION_RETENTION_H_
#define ODYSSEY_AGENTD_SESSION_RETENTION_H_

// Which events of a journal may go. Events go with the whole turns that they are of, the oldest
// first, and never those of a turn that has not ended.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "agentd/event/journal.h"
#include "common/base/status.h"

namespace odyssey::session {

inline constexpr uint64_t kDefaultJournalBytes = uint64_t{64} * 1024 * 1024;

// The operator's bounds for the journal of each session.
struct Retention {
  uint64_t max_bytes = kDefaultJournalBytes;  // 0: no bound
  std::chrono::seconds keep{0};               // 0: for ever
};

// The event with which a turn ended.
struct TurnEnd {
  uint64_t sequence = 0;
  std::string created_at;
  uint64_t bytes_after = 0;  // of the journal
};

// Of every turn whose end the journal has, in order.
Result<std::vector<TurnEnd>> ReadTurnEnds(event::Journal& journal);

// The last event that goes; 0: none.
uint64_t CutToTurns(const std::vector<TurnEnd>& ends, uint32_t keep_turns);
// Above max_bytes: so much that half of it is left, so that not every turn moves the file; but for
// the last turn, which its client may be reading. Older than `oldest`, a time as events have it or
// empty: every turn.
uint64_t CutToBounds(const std::vector<TurnEnd>& ends, uint64_t max_bytes,
                     const std::string& oldest);

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_RETENTION_H_
