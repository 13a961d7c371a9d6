#ifndef ODYSSEY_AGENTD_SESSION_TURN_LOG_H_
#define ODYSSEY_AGENTD_SESSION_TURN_LOG_H_

// The turns of one session on disk: an append-only file of JSON lines. A line holds a turn as it is
// from then on, or the id of a turn that is no more. The last line of a turn counts. Every line
// ends with a summary of the whole file, so that a start reads one line of it.

#include <cstdint>
#include <string>
#include <vector>

#include "agentd/event/journal.h"
#include "agentd/session/session_record.h"
#include "common/base/status.h"

namespace odyssey::session {

struct TurnSummary {
  uint64_t unfinished = 0;  // turns that are open, or whose end may not be in the journal
  uint64_t messages = 0;    // of all turns
  policy::Budget used;      // by all turns
  friend bool operator==(const TurnSummary&, const TurnSummary&) = default;
};

TurnSummary Summarize(const std::vector<TurnRecord>& turns);

// The lines that make `before` into `after`; empty: they are equal.
std::string EncodeTurnChanges(const std::vector<TurnRecord>& before,
                              const std::vector<TurnRecord>& after);

struct DecodedTurns {
  std::vector<TurnRecord> turns;
  size_t bad_lines = 0;  // complete lines that are left out
};
// What follows the last newline was being written at a crash: it is ignored.
DecodedTurns DecodeTurns(const std::string& text);

// Appends the lines to the file, which is made if it is missing. A torn last line is cut off
// first. On failure the file is as before.
Status AppendTurnLines(const std::string& path, const std::string& lines,
                       event::Durability durability);

// Of the last line. DATA_LOSS: it is torn or malformed. A missing or empty file has no turns.
Result<TurnSummary> ReadTurnSummary(const std::string& path);

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_TURN_LOG_H_
