#ifndef ODYSSEY_AGENTD_SESSION_TURN_MEMORY_H_
#define ODYSSEY_AGENTD_SESSION_TURN_MEMORY_H_

// What a turn's model is sent of the session's earlier turns.

#include <functional>
#include <string>
#include <vector>

#include "agentd/memory/summary.h"
#include "agentd/memory/tokens.h"
#include "agentd/model/chat.h"
#include "agentd/model/model_client.h"
#include "agentd/session/session_record.h"
#include "common/base/status.h"
#include "policy/dialect/bundle.h"

namespace odyssey::session {

struct TurnMemory {
  std::vector<model::Message> window;
  memory::Summary summary;  // of what is before it
  bool summarised = false;  // just now
  std::string detail;       // of the step build_memory
};

// Asks a model; the text of its answer.
using AskModel = std::function<Result<std::string>(const model::ModelRequest&)>;

// Calls `ask` at most once, where the agent's memory summarises and messages leave the window. If
// it fails, the plain window is used, and `detail` says why.
TurnMemory BuildMemory(const SessionRecord& record, const dialect::MemorySpec& spec,
                       const AskModel& ask);

// Of the latest turn that made one.
memory::Summary LatestSummary(const SessionRecord& record);
// Of the latest turn whose provider has reported tokens.
memory::TokenScale LatestScale(const SessionRecord& record);

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_TURN_MEMORY_H_
