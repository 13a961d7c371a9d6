#include "agentd/event/journal_store.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agentd/base/quarantine.h"

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
  unlink((path + kJournalTemporary).c_str());
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return ErrnoStatus(errno, "remove " + path);
  return OkStatus();
}

uint64_t JournalStore::BytesOf(const std::string& session_id) const {
  struct stat info;
  const bool there = stat(PathOf(session_id).c_str(), &info) == 0;
  return there ? static_cast<uint64_t>(info.st_size) : 0;
}

std::vector<std::string> JournalStore::quarantined() const {
  return agent::QuarantinedIn(directory_);
}

}  // namespace odyssey::event
