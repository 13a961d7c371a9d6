#include "agentd/session/setup_cache.h"

#include <utility>

namespace odyssey::session {
namespace {

// A prompt may be large: after that many sessions all are set up again.
constexpr size_t kMaxEntries = 256;

// The steps whose outcome is that of an earlier turn. What is checked all the same is the mode's.
void NoteKept(TurnTrace* trace) {
  for (const TurnStep step :
       {TurnStep::kResolveBundle, TurnStep::kBuildRules, TurnStep::kBuildPrompt,
        TurnStep::kSelectTools, TurnStep::kResolveModel, TurnStep::kChooseMode}) {
    trace->Enter(step);
    trace->Note("as in the turn before");
  }
}

}  // namespace

Result<std::shared_ptr<const TurnSetup>> SetupCache::SetUp(const SessionRecord& record,
                                                           const Runtime& runtime,
                                                           TurnTrace* trace) {
  const Inputs inputs = {record.bundle,       record.agent_id, record.cwd, record.owner_uid,
                         record.allow_danger, record.review,   record.env};
  std::shared_ptr<const TurnSetup> last;
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(record.id);
    if (found != entries_.end() && found->second.inputs == inputs) last = found->second.setup;
  }
  if (last != nullptr) {
    // What is granted follows from the record, or one of the variables is refused.
    if (trace != nullptr) NoteKept(trace);
    ODY_RETURN_IF_ERROR(GrantedSources(record, last->bundle->spec.sandbox, runtime).status());
    return last;
  }
  ODY_ASSIGN_OR_RETURN(TurnSetup setup, SetUpTurn(record, runtime, trace));
  auto made = std::make_shared<const TurnSetup>(std::move(setup));
  const std::lock_guard lock(mutex_);
  ++setups_;
  if (entries_.size() >= kMaxEntries) entries_.clear();
  entries_[record.id] = {inputs, made};
  return made;
}

void SetupCache::Forget(const std::string& session_id) {
  const std::lock_guard lock(mutex_);
  entries_.erase(session_id);
}

uint64_t SetupCache::setups() const {
  const std::lock_guard lock(mutex_);
  return setups_;
}

}  // namespace odyssey::session
