#include "agentd/session/retention.h"

#include <algorithm>

#include "agentd/session/turn_events.h"

namespace odyssey::session {
namespace {

constexpr size_t kBatch = 256;

}  // namespace

Result<std::vector<TurnEnd>> ReadTurnEnds(event::Journal& journal) {
  std::vector<TurnEnd> out;
  const uint64_t last = journal.last_sequence();
  for (uint64_t after = 0; after < last;) {
    ODY_ASSIGN_OR_RETURN(const std::vector<event::Event> events, journal.ReadAfter(after, kBatch));
    for (const event::Event& event : events) {
      after = event.sequence();
      if (EndedTurn(event).empty()) continue;
      out.push_back({after, event.created_at(), journal.BytesAfter(after)});
    }
  }
  return out;
}

uint64_t CutToTurns(const std::vector<TurnEnd>& ends, uint32_t keep_turns) {
  return ends.size() > keep_turns ? ends[ends.size() - keep_turns - 1].sequence : 0;
}

uint64_t CutToBounds(const std::vector<TurnEnd>& ends, uint64_t max_bytes,
                     const std::string& oldest) {
  uint64_t cut = 0;
  for (const TurnEnd& end : ends) {
    if (end.created_at < oldest) cut = end.sequence;
  }
  if (max_bytes == 0 || ends.size() < 2) return cut;
  const auto last = ends.end() - 1;
  const auto fits = std::find_if(
      ends.begin(), last, [&](const TurnEnd& end) { return end.bytes_after <= max_bytes / 2; });
  const uint64_t by_size = (fits == last ? last - 1 : fits)->sequence;
  return std::max(cut, by_size);
}

}  // namespace odyssey::session
