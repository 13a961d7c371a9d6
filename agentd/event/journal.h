#ifndef ODYSSEY_AGENTD_EVENT_JOURNAL_H_
#define ODYSSEY_AGENTD_EVENT_JOURNAL_H_

// The record of one session's events: a file of JSON lines, one event each, whose sequences have no
// gaps. New ones are appended; the oldest ones may be removed together, and then the first line is
// an `events_removed` in their place, with the sequence of the last of them. Thread-safe.
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

// What an event is stamped with, and who is told of it. All must outlive the journal.
struct Stamp {
  const agent::Clock* clock = nullptr;
  agent::IdSource* ids = nullptr;
  // Called with each event that was appended, from the appending thread; may be empty.
  std::function<void(const Event&)> on_append = nullptr;
};

// Reasons of `events_removed`.
inline constexpr char kCompaction[] = "compaction";  // a client asked for it
inline constexpr char kRetention[] = "retention";    // the operator's bounds
inline constexpr char kDamage[] = "damage";          // the lines could not be read

// Added to a journal's path: what a crash may leave of a removal of events.
inline constexpr char kJournalTemporary[] = ".tmp";

// What was removed.
struct Removed {
  uint64_t events = 0;
  uint64_t bytes = 0;  // by which the file is smaller
};

// The file of a journal between two removals of events, with the index of its lines.
struct JournalFile {
  UniqueFd fd;
  uint64_t first = 1;             // sequence of line 1
  bool marked = false;            // line 1 is an `events_removed`
  uint64_t lines = 0;             // complete ones
  uint64_t size = 0;              // bytes of them
  std::vector<uint64_t> offsets;  // where line 1, 1 + kIndexStride, … begins

  uint64_t last() const { return first + lines - 1; }
  uint64_t removed() const { return marked ? first : 0; }  // the last event that is gone
  void AddLine(uint64_t bytes);
};

class Journal final {
 public:
  // Opens or creates (0600). A last line that a crash cut off is removed from the file. A damaged
  // file is made readable as by ReadAfter.
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
  // `max_events`. Of removed ones: the `events_removed`. Where a line cannot be read, it and all
  // before it are removed, or those behind it if none of them can be read, and the file as it was
  // is kept as PATH.corrupt-SIZE.
  Result<std::vector<Event>> ReadAfter(uint64_t sequence, size_t max_events);

  // Removes every event up to `sequence`, whole or not at all. Events after it, and their
  // sequences, stay. FAILED_PRECONDITION after Close.
  Result<Removed> RemoveThrough(uint64_t sequence, const char* reason);
  // The last event that was removed; 0: none.
  uint64_t removed_through() const;
  // Bytes of the file from the event after `sequence` on, or some more.
  uint64_t BytesAfter(uint64_t sequence) const;

  // If nothing is after `sequence` yet, and there is no failure: keeps `ready`, calls it once when
  // that changes (or at Close) from the appending thread, and returns true. Otherwise returns false
  // and forgets `ready`.
  bool NotifyAfter(uint64_t sequence, std::function<void()> ready);

  // Ends every reader once it has read what is there. The session has been removed.
  void Close();
  bool closed() const;

 private:
  friend class Follower;

  using FilePtr = std::shared_ptr<JournalFile>;
  // Events that stay when others are removed.
  struct Run {
    uint64_t sequence = 0;  // of the first one
    uint64_t begin = 0;     // where it is
    uint64_t end = 0;       // behind the last one
  };

  Journal(UniqueFd fd, std::string path, std::string session_id, Stamp stamp);

  Status Recover();
  Status DropZeroedLines();
  Status Repair();
  void StampEvent(Event* event, uint64_t sequence) const;
  Status WriteLine(const std::string& line);
  Status AppendLine(const std::string& line, Durability durability);
  FilePtr CurrentFile() const;
  Result<std::vector<Event>> ReadFrom(const JournalFile& file, uint64_t sequence,
                                      size_t max_events) const;
  // With mutex_ held, the next four.
  Result<std::string> ReadLine(uint64_t sequence) const;
  Result<uint64_t> OffsetAfter(uint64_t sequence) const;
  Result<Run> LastReadableRun() const;
  Status Rewrite(const Run& kept, const char* reason);
  void AddToTail(Encoded encoded);
  // The events after `sequence`, if the tail has them; nothing: the file has.
  std::optional<std::vector<Encoded>> TailAfter(uint64_t sequence, size_t max_events) const;
  void AddFollower();
  void RemoveFollower();
  std::vector<std::function<void()>> TakeWaiters();

  const std::string path_;
  const std::string session_id_;
  const Stamp stamp_;

  mutable std::mutex mutex_;
  // All below: guarded by mutex_.
  bool closed_ = false;
  Status failure_;
  FilePtr file_;  // and what it points to; one that is no longer here does not change
  std::vector<std::function<void()>> waiters_;
  size_t followers_ = 0;
  std::deque<Encoded> tail_;  // the latest events, the last of them file_->last()
  size_t tail_bytes_ = 0;
};

// A subscriber's place in a journal. While one exists, what is appended stays in memory for it.
// Once it has begun to read the file it reads that file to its end, though events of it be removed
// meanwhile. Used by one thread at a time.
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
  std::shared_ptr<JournalFile> file_;  // that it reads; null: none
  uint64_t position_;
};

}  // namespace odyssey::event

#endif  // ODYSSEY_AGENTD_EVENT_JOURNAL_H_
