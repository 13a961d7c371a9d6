#ifndef ODYSSEY_AGENTD_SESSION_SESSION_STORE_H_
#define ODYSSEY_AGENTD_SESSION_SESSION_STORE_H_

// Every session's record: DIR/<session id>.json without its turns, which are in DIR/<session
// id>.turns (turn_log.h) and are read at the first use. A shared registry; thread-safe.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "agentd/base/ids.h"
#include "agentd/event/journal.h"
#include "agentd/session/session_record.h"
#include "common/base/status.h"

namespace odyssey::session {

using SessionPtr = std::shared_ptr<const SessionRecord>;

// NOT_FOUND, of the field session_id.
Status NoSuchSession(const std::string& id);

class SessionStore final {
 public:
  explicit SessionStore(std::string directory) : directory_(std::move(directory)) {}

  // Reads every record without its turns; to be called once, before anything else. A file of an
  // older version, which may hold values of variables, is written as this one does. A file that is
  // no session's is left alone, and so is one of the original Odyssey (session_file.h); one that
  // cannot be read as a session is renamed to NAME.json.corrupt-ID and named in `warnings`. What a
  // crash left of a write is removed.
  Status Load(agent::IdSource* ids, std::vector<std::string>* warnings);
  // Sessions with a turn that is open, or whose end may not be in the journal, when Load read them.
  std::vector<std::string> unfinished() const;

  // On failure of Create, Update and Remove the record in memory is as it was.
  Status Create(SessionRecord record);
  // Changes a copy, writes what differs, and makes it the record. Updates of one session are
  // serialised. An error of `change` is returned and nothing is written. kBatched is for turns
  // alone: a crash of the machine may lose the change.
  Status Update(const std::string& id, const std::function<Status(SessionRecord&)>& change,
                event::Durability durability = event::Durability::kSynced);
  // Writes the file of turns without the lines that no longer count, whole and synced; returns the
  // bytes by which it is smaller. kIfWorthwhile: if they are most of it.
  enum class Compaction { kIfWorthwhile, kAlways };
  Result<uint64_t> CompactTurns(const std::string& id, Compaction when);
  // NOT_FOUND if there is none.
  Status Remove(const std::string& id);

  // Changes the record in memory only: for what the next Update writes too, and for the end of a
  // turn that could not be written.
  void UpdateInMemory(const std::string& id, const std::function<void(SessionRecord&)>& change);

  Result<SessionPtr> Get(const std::string& id) const;
  // Reads no file: the turns may be missing, message_count and used are right.
  Result<SessionPtr> GetWithoutTurns(const std::string& id) const;
  std::vector<SessionPtr> List() const;  // as GetWithoutTurns; newest first
  size_t size() const;
  // Of the session's files.
  uint64_t BytesOf(const std::string& id) const;
  // The paths of files that were set aside since they, or lines of them, could not be read, and of
  // session files of the original Odyssey; sorted.
  std::vector<std::string> quarantined() const;

 private:
  static constexpr uint64_t kMinCompactBytes = 64 * 1024;

  struct Entry {
    std::mutex write;      // held while the record is changed; taken before mutex_
    SessionPtr record;     // guarded by SessionStore::mutex_
    SessionPtr written;    // what the files hold; guarded by `write`
    bool loaded = true;    // whether `record` has its turns; guarded by `write`
    bool removed = false;  // guarded by `write`
    // From which size on the file of turns is looked at; guarded by `write`.
    uint64_t compact_at = kMinCompactBytes;
  };

  std::string PathOf(const std::string& id) const;
  std::string TurnsPathOf(const std::string& id) const;
  Status AddLoaded(SessionRecord record, const std::string& text);
  Status LoadTurns(const std::string& id, Entry& entry) const;
  Status Write(const SessionRecord& before, const SessionRecord& after,
               event::Durability durability) const;
  void Replace(Entry& entry, SessionPtr record) const;
  Result<std::shared_ptr<Entry>> Find(const std::string& id) const;
  Status LoadFile(const std::string& name, agent::IdSource* ids,
                  std::vector<std::string>* warnings);

  const std::string directory_;
  std::vector<std::string> unfinished_;  // set by Load
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;  // guarded by mutex_
};

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_SESSION_STORE_H_
