#ifndef ODYSSEY_AGENTD_EVENT_JOURNAL_STORE_H_
#define ODYSSEY_AGENTD_EVENT_JOURNAL_STORE_H_

// The journals of all sessions: DIR/<session id>.jsonl. A shared registry; thread-safe.

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "agentd/event/journal.h"
#include "common/base/status.h"

namespace odyssey::event {

class JournalStore final {
 public:
  // The directory must exist.
  JournalStore(std::string directory, Stamp stamp)
      : directory_(std::move(directory)), stamp_(stamp) {}

  // The journal of a session, opened at its first use. `session_id` must be a session's id.
  Result<std::shared_ptr<Journal>> Get(const std::string& session_id);

  // Ends its readers and removes the file. A missing one is fine.
  Status Remove(const std::string& session_id);

  // Of the session's journal, whose file is not opened; 0 if there is none.
  uint64_t BytesOf(const std::string& session_id) const;

  // The paths of journals that were kept aside since lines of them could not be read; sorted.
  std::vector<std::string> quarantined() const;

 private:
  std::string PathOf(const std::string& session_id) const;

  const std::string directory_;
  const Stamp stamp_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Journal>> open_;  // guarded by mutex_
};

}  // namespace odyssey::event

#endif  // ODYSSEY_AGENTD_EVENT_JOURNAL_STORE_H_
