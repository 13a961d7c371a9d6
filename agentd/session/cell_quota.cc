#include "agentd/session/cell_quota.h"

#include <set>

#include "agentd/session/quota.h"
#include "agentd/session/session_store.h"

namespace odyssey::session {
namespace {

// Another call may take the room that an ended cell leaves.
constexpr int kAttempts = 3;

// Live cells of sessions, of this owner or of all, but for the session's own.
Result<std::vector<sandbox::Cell>> OtherCells(const std::string& session_id, const uint32_t* owner,
                                              const Runtime& runtime) {
  ODY_ASSIGN_OR_RETURN(std::vector<sandbox::Cell> cells, runtime.sandbox->ListCells());
  std::erase_if(cells, [&](const sandbox::Cell& cell) {
    if (cell.key.session_id == session_id) return true;
    const Result<SessionPtr> record = runtime.store->GetWithoutTurns(cell.key.session_id);
    return !record.ok() || (owner != nullptr && (*record)->owner_uid != *owner);
  });
  return cells;
}

}  // namespace

Result<uint64_t> CellQuota::Count(uint32_t owner, const Runtime& runtime) {
  ODY_ASSIGN_OR_RETURN(const std::vector<sandbox::Cell> cells, OtherCells("", &owner, runtime));
  return cells.size();
}

Result<sandbox::Cell> CellQuota::Prepare(const sandbox::CellSpec& spec, const Runtime& runtime) {
  const std::string& id = spec.key.session_id;
  ODY_ASSIGN_OR_RETURN(const SessionPtr record, runtime.store->GetWithoutTurns(id));
  ODY_RETURN_IF_ERROR(Reserve(id, record->owner_uid, runtime));
  Result<sandbox::Cell> made = PrepareInRoom(spec, runtime);
  std::lock_guard lock(mutex_);
  preparing_.erase(id);
  return made;
}

// Counts cells that are being made too, so that two calls do not take the same room.
Status CellQuota::Reserve(const std::string& session_id, uint32_t owner, const Runtime& runtime) {
  constexpr ceiling::Counted kCells = ceiling::Counted::kCells;
  ODY_ASSIGN_OR_RETURN(const ceiling::Quota quota, QuotaOf(owner, runtime));
  if (quota[static_cast<size_t>(kCells)].value == 0) return OkStatus();
  std::lock_guard lock(mutex_);
  for (;;) {
    ODY_ASSIGN_OR_RETURN(std::vector<sandbox::Cell> live, OtherCells(session_id, &owner, runtime));
    std::set<std::string> sessions;
    for (const sandbox::Cell& cell : live) sessions.insert(cell.key.session_id);
    for (const auto& [id, of] : preparing_) {
      if (of == owner && id != session_id) sessions.insert(id);
    }
    const Status room = CheckQuota(quota, kCells, sessions.size(), owner);
    if (room.ok()) break;
    if (!end_idlest_(live)) return room;
  }
  preparing_[session_id] = owner;
  return OkStatus();
}

Result<sandbox::Cell> CellQuota::PrepareInRoom(const sandbox::CellSpec& spec,
                                               const Runtime& runtime) {
  for (int attempt = 1;; ++attempt) {
    Result<sandbox::Cell> made = runtime.sandbox->PrepareCell(spec);
    if (made.status().code() != Code::kResourceExhausted || attempt == kAttempts) return made;
    const auto others = OtherCells(spec.key.session_id, nullptr, runtime);
    if (!others.ok() || !end_idlest_(*others)) return made;
  }
}

}  // namespace odyssey::session
