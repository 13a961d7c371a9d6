#include "agentd/session/recovery.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agentd/session/turn_events.h"

namespace odyssey::session {
namespace {

constexpr size_t kBatch = 256;
constexpr char kInterruptedMessage[] = "agentd ended while the turn was under way";

event::Event EndOf(const TurnRecord& turn) {
  const bool completed = turn.status == TurnStatus::kCompleted;
  return TurnEnds(turn.id, turn.status, completed ? turn.response : turn.error);
}

void InterruptOpenTurns(SessionRecord& record) {
  for (TurnRecord& turn : record.turns) {
    if (!IsOpen(turn.status)) continue;
    turn.status = TurnStatus::kInterrupted;
    turn.error = kInterruptedMessage;
  }
}

// Takes out of `missing` the turns whose end is in the journal. Looks at its last events first:
// there the end of the latest turn nearly always is.
Status RemoveAnnounced(const event::Journal& journal, std::set<std::string>* missing) {
  const uint64_t last = journal.last_sequence();
  const auto look = [&](uint64_t after, uint64_t until) -> Status {
    while (after < until && !missing->empty()) {
      ODY_ASSIGN_OR_RETURN(const std::vector<event::Event> events,
                           journal.ReadAfter(after, kBatch));
      for (const event::Event& event : events) missing->erase(EndedTurn(event));
      after += events.size();
    }
    return OkStatus();
  };
  const uint64_t tail = last > kBatch ? last - kBatch : 0;
  ODY_RETURN_IF_ERROR(look(tail, last));
  return look(0, tail);
}

}  // namespace

Status RecoverSession(const SessionRecord& record, const Runtime& runtime) {
  bool any_open = false;
  std::set<std::string> missing;
  for (const TurnRecord& turn : record.turns) {
    any_open = any_open || IsOpen(turn.status);
    if (!turn.announced) missing.insert(turn.id);
  }
  if (missing.empty()) return OkStatus();
  if (any_open) {
    const Status written = runtime.store->Update(record.id, [](SessionRecord& changed) {
      InterruptOpenTurns(changed);
      return OkStatus();
    });
    // Whether or not it could be written, nothing runs them any more.
    if (!written.ok()) runtime.store->UpdateInMemory(record.id, InterruptOpenTurns);
    ODY_RETURN_IF_ERROR(written);
  }
  ODY_ASSIGN_OR_RETURN(const auto journal, runtime.journals->Get(record.id));
  ODY_RETURN_IF_ERROR(RemoveAnnounced(*journal, &missing));
  ODY_ASSIGN_OR_RETURN(const SessionPtr current, runtime.store->Get(record.id));
  for (const TurnRecord& turn : current->turns) {
    if (missing.count(turn.id) == 0) continue;
    ODY_RETURN_IF_ERROR(journal->Append(EndOf(turn), event::Durability::kSynced).status());
  }
  runtime.store->UpdateInMemory(record.id, [](SessionRecord& changed) {
    for (TurnRecord& turn : changed.turns) turn.announced = true;
  });
  return OkStatus();
}

}  // namespace odyssey::session
