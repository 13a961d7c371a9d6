#ifndef ODYSSEY_AGENTD_EVENT_JOURNAL_H_
#define ODYSSEY_AGENTD_EVENT_JOURNAL_H_

// The append-only record of one session's events: a file of JSON lines in which line N is the event
// with sequence N. Thread-safe.
//
// Append encodes an event once. While a Follower exists, the journal keeps the latest encodings,
// and hands the same ones to every follower; only a follower that is further behind reads the file.
// So a slow one costs no memory beyond kTailBytes and loses nothing.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "agentd/base/clock.h"
#include "agentd/base/ids.h"
#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "odyssey/agent/v1/event.pb.h"

namespace odyssey::event {

using Event = agent::v1::Event;

// An event as a subscriber's client receives it: serialized.
using Encoded = std::shared_ptr<const std::string>;

// Most bytes of encodings that a journal with followers keeps; the latest one may be larger.
inline constexpr size_t kTailBytes = 256 * 1024;

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

  // Writes the event, whose id, session, sequence and time it sets, and wakes readers; returns its
  // sequence. On failure the file is as before, and readers are woken to see failure().
  // FAILED_PRECONDITION after Close.
  Result<uint64_t> Append(Event event, Durability durability);

  uint64_t last_sequence() const;

  // Why the latest Append failed: what a reader waits for may never come. OK after one that did
  // not, and after ForgetFailure.
  Status failure() const;
  void ForgetFailure();

  // The events after `sequence`, oldest first, from the file: at least one if there is one, at most
  // `max_events`.
  Result<std::vector<Event>> ReadAfter(uint64_t sequence, size_t max_events) const;

  // If nothing is after `sequence` yet, and there is no failure: keeps `ready`, calls it once when
  // that changes (or at Close) from the appending thread, and returns true. Otherwise returns false
  // and forgets `ready`.
  bool NotifyAfter(uint64_t sequence, std::function<void()> ready);

  // Ends every reader once it has read what is there. The session has been removed.
  void Close();
  bool closed() const;

 private:
  friend class Follower;

  Journal(UniqueFd fd, std::string path, std::string session_id, Stamp stamp);

  Status Recover();
  Status RecoverLastLine();
  Status WriteLine(const std::string& line);
  Status AppendLine(const std::string& line, Durability durability);
  void AddLine(uint64_t bytes);
  void AddToTail(Encoded encoded);
  // The events after `sequence`, if the tail has them; nothing: the file has.
  std::optional<std::vector<Encoded>> TailAfter(uint64_t sequence, size_t max_events) const;
  void AddFollower();
  void RemoveFollower();
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
  size_t followers_ = 0;
  std::deque<Encoded> tail_;  // the latest events, the last of them last_sequence_
  size_t tail_bytes_ = 0;
};

// A subscriber's place in a journal. While one exists, what is appended stays in memory for it.
// Used by one thread at a time.
class Follower final {
 public:
  Follower(std::shared_ptr<Journal> journal, uint64_t after);
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  // The next events, as ReadAfter, and goes on behind them.
  Result<std::vector<Encoded>> Next(size_t max_events);

  // The sequence of the event that Next gave last.
  uint64_t position() const { return position_; }
  Journal& journal() const { return *journal_; }

 private:
  const std::shared_ptr<Journal> journal_;
  uint64_t position_;
};

}  // namespace odyssey::event

#endif  // ODYSSEY_AGENTD_EVENT_JOURNAL_H_
