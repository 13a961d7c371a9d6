#include "agentd/session/recovery.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agentd/session/turn_events.h"
#include "agentd/session/turn_history.h"
#include "agentd/session/turn_use.h"

namespace odyssey::session {
namespace {

constexpr size_t kBatch = 256;
constexpr char kInterruptedMessage[] = "agentd ended while the turn was under way";
constexpr char kCallerGoneMessage[] = "agentd ended, and with it the turn that called this worker";

Status AppendEnd(const TurnRecord& turn, event::Journal& journal) {
  const bool completed = turn.status == TurnStatus::kCompleted;
  for (event::Event& event :
       TurnEnds(turn.id, turn.status, completed ? turn.response : turn.error)) {
    ODY_RETURN_IF_ERROR(journal.Append(std::move(event), event::Durability::kSynced).status());
  }
  return OkStatus();
}

// The turn's messages and its use, as far as the journal has them.
Status ReadTurn(event::Journal& journal, TurnRecord* turn) {
  TurnHistory history(turn->id);
  TurnUse use(turn->id);
  for (uint64_t after = 0; after < journal.last_sequence();) {
    ODY_ASSIGN_OR_RETURN(const std::vector<event::Event> events, journal.ReadAfter(after, kBatch));
    for (const event::Event& event : events) {
      history.Add(event);
      use.Add(event);
      after = event.sequence();
    }
  }
  turn->history = history.messages();
  turn->used = use.used();
  turn->summary = use.summary();
  return OkStatus();
}

// Of the sessions that the turn has started.
policy::Budget UsedByWorkers(const SessionStore& store, const std::string& session_id,
                             const std::string& turn_id) {
  policy::Budget out;
  for (const SessionPtr& worker : store.List()) {
    if (worker->parent.session_id != session_id || worker->parent.turn_id != turn_id) continue;
    policy::Budget used = worker->used;
    used.wall_clock_ms = 0;  // the turn's own
    out = out + used;
  }
  return out;
}

// A queued turn that nothing waits for: the caller's turn has ended with agentd.
bool IsOrphan(const SessionRecord& record, const TurnRecord& turn) {
  return !record.parent.session_id.empty() && turn.status == TurnStatus::kQueued;
}

bool IsToBeInterrupted(const SessionRecord& record, const TurnRecord& turn) {
  return turn.status == TurnStatus::kRunning || IsOrphan(record, turn);
}

Status InterruptTurns(SessionRecord& record, event::Journal& journal, const SessionStore& store) {
  for (TurnRecord& turn : record.turns) {
    if (!IsToBeInterrupted(record, turn)) continue;
    turn.error = IsOrphan(record, turn) ? kCallerGoneMessage : kInterruptedMessage;
    turn.status = TurnStatus::kInterrupted;
    ODY_RETURN_IF_ERROR(ReadTurn(journal, &turn));
    turn.used = turn.used + UsedByWorkers(store, record.id, turn.id);
    // Of a damaged journal the beginning of the turn may be gone.
    if (!turn.history.empty() && turn.history.front().kind != model::MessageKind::kUser) {
      turn.history.insert(turn.history.begin(), {model::MessageKind::kUser, turn.prompt, {}});
    }
  }
  return OkStatus();
}

// Takes out of `missing` the turns whose end is in the journal. Looks at its last events first:
// there the end of the latest turn nearly always is.
Status RemoveAnnounced(event::Journal& journal, std::set<std::string>* missing) {
  const uint64_t last = journal.last_sequence();
  const auto look = [&](uint64_t after, uint64_t until) -> Status {
    while (after < until && !missing->empty()) {
      ODY_ASSIGN_OR_RETURN(const std::vector<event::Event> events,
                           journal.ReadAfter(after, kBatch));
      for (const event::Event& event : events) {
        missing->erase(EndedTurn(event));
        after = event.sequence();
      }
    }
    return OkStatus();
  };
  const uint64_t tail = last > kBatch ? last - kBatch : 0;
  ODY_RETURN_IF_ERROR(look(tail, last));
  return look(0, tail);
}

}  // namespace

Status RecoverSession(const SessionRecord& record, const Runtime& runtime) {
  bool any = false;
  std::set<std::string> missing;
  for (const TurnRecord& turn : record.turns) {
    const bool interrupted = IsToBeInterrupted(record, turn);
    any = any || interrupted;
    if (interrupted || (!turn.announced && turn.status != TurnStatus::kQueued)) {
      missing.insert(turn.id);
    }
  }
  if (missing.empty()) return OkStatus();
  ODY_ASSIGN_OR_RETURN(const auto journal, runtime.journals->Get(record.id));
  if (any) {
    const auto interrupt = [&](SessionRecord& changed) {
      return InterruptTurns(changed, *journal, *runtime.store);
    };
    const Status written = runtime.store->Update(record.id, interrupt);
    // Whether or not it could be written, nothing runs them any more.
    if (!written.ok()) {
      runtime.store->UpdateInMemory(record.id,
                                    [&](SessionRecord& changed) { (void)interrupt(changed); });
    }
    ODY_RETURN_IF_ERROR(written);
  }
  ODY_RETURN_IF_ERROR(RemoveAnnounced(*journal, &missing));
  ODY_ASSIGN_OR_RETURN(const SessionPtr current, runtime.store->Get(record.id));
  for (const TurnRecord& turn : current->turns) {
    if (missing.count(turn.id) == 0) continue;
    ODY_RETURN_IF_ERROR(AppendEnd(turn, *journal));
  }
  return runtime.store->Update(
      record.id,
      [](SessionRecord& changed) {
        for (TurnRecord& turn : changed.turns) turn.announced = !IsOpen(turn.status);
        return OkStatus();
      },
      event::Durability::kBatched);
}

}  // namespace odyssey::session
