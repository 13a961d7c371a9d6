#include "agentd/event/journal_store.h"

#include <errno.h>
#include <unistd.h>

namespace odyssey::event {

std::string JournalStore::PathOf(const std::string& session_id) const {
  return directory_ + "/" + session_id + ".jsonl";
}

Result<std::shared_ptr<Journal>> JournalStore::Get(const std::string& session_id) {
  std::lock_guard lock(mutex_);
  if (const auto it = open_.find(session_id); it != open_.end()) return it->second;
  ODY_ASSIGN_OR_RETURN(std::shared_ptr<Journal> journal,
                       Journal::Open(PathOf(session_id), session_id, stamp_));
  open_[session_id] = journal;
  return journal;
}

Status JournalStore::Remove(const std::string& session_id) {
  std::lock_guard lock(mutex_);
  if (const auto it = open_.find(session_id); it != open_.end()) {
    it->second->Close();
    open_.erase(it);
  }
  const std::string path = PathOf(session_id);
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return ErrnoStatus(errno, "remove " + path);
  return OkStatus();
}

}  // namespace odyssey::event
