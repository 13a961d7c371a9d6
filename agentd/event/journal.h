#ifndef ODYSSEY_AGENTD_EVENT_JOURNAL_H_
#define ODYSSEY_AGENTD_EVENT_JOURNAL_H_

// The append-only record of one session's events: a file of JSON lines in which line N is the event
// with sequence N. Readers read the file, so a slow one costs no memory and loses nothing.
// Thread-safe.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "agentd/base/clock.h"
#include "agentd/base/ids.h"
#include "agentd/event/event.h"
#include "common/base/status.h"
#include "common/os/unique_fd.h"

namespace odyssey::event {

// Whether an event must survive a crash of the machine before Append returns. A crash of agentd
// alone loses neither kind.
enum class Durability { kBatched, kSynced };

// What an event is stamped with. Both must outlive the journal.
struct Stamp {
  const agent::Clock* clock = nullptr;
  agent::IdSource* ids = nullptr;
};

class Journal final {
 public:
  // Opens or creates (0600). A last line that a crash cut off is removed from the file.
  // DATA_LOSS: the file holds a complete line out of sequence.
  static Result<std::shared_ptr<Journal>> Open(std::string path, std::string session_id,
                                               Stamp stamp);

  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // Writes the event and wakes readers; returns its sequence. On failure the file is as before, and
  // readers are woken to see failure(). FAILED_PRECONDITION after Close.
  Result<uint64_t> Append(Payload payload, Durability durability);

  uint64_t last_sequence() const;

  // Why the latest Append failed: what a reader waits for may never come. OK after one that did
  // not, and after ForgetFailure.
  Status failure() const;
  void ForgetFailure();

  // The events after `sequence`, oldest first: at least one if there is one, at most `max_events`.
  Result<std::vector<Event>> ReadAfter(uint64_t sequence, size_t max_events) const;

  // If nothing is after `sequence` yet, and there is no failure: keeps `ready`, calls it once when
  // that changes (or at Close) from the appending thread, and returns true. Otherwise returns false
  // and forgets `ready`.
  bool NotifyAfter(uint64_t sequence, std::function<void()> ready);

  // Ends every reader once it has read what is there. The session has been removed.
  void Close();
  bool closed() const;

 private:
  Journal(UniqueFd fd, std::string path, std::string session_id, Stamp stamp);

  Status Recover();
  Status RecoverLastLine();
  Status WriteLine(const std::string& line);
  Status AppendLine(const std::string& line, Durability durability);
  void AddLine(uint64_t bytes);
  std::vector<std::function<void()>> TakeWaiters();

  const UniqueFd fd_;
  const std::string path_;
  const std::string session_id_;
  const Stamp stamp_;

  mutable std::mutex mutex_;
  // All below: guarded by mutex_.
  bool closed_ = false;
  Status failure_;
  uint64_t size_ = 0;              // bytes of complete lines
  uint64_t last_sequence_ = 0;     // = number of lines
  std::vector<uint64_t> offsets_;  // where line 1, 1 + kIndexStride, … begins
  std::vector<std::function<void()>> waiters_;
};

}  // namespace odyssey::event

#endif  // ODYSSEY_AGENTD_EVENT_JOURNAL_H_
