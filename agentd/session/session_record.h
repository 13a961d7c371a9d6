#ifndef ODYSSEY_AGENTD_SESSION_SESSION_RECORD_H_
#define ODYSSEY_AGENTD_SESSION_SESSION_RECORD_H_

// A session as it is kept. Values.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agentd/bundle/bundle_pin.h"
#include "agentd/job/job.h"
#include "agentd/memory/summary.h"
#include "agentd/model/chat.h"
#include "common/base/status.h"
#include "policy/model/budget.h"

namespace odyssey::session {

enum class TurnStatus { kQueued, kRunning, kCompleted, kFailed, kCancelled, kInterrupted };

bool IsOpen(TurnStatus status);  // queued or running

// The owner of a session that does not say: nobody, to whom only what everybody may is granted.
inline constexpr uint32_t kNobody = 0xffffffff;

struct TurnRecord {
  std::string id;
  TurnStatus status = TurnStatus::kQueued;
  std::string created_at;
  std::string prompt;
  std::string response;  // of a completed turn
  std::string error;     // of one that ended otherwise
  std::vector<model::Message> history;
  uint64_t deadline_ms = 0;     // of its acceptance; 0: none
  int64_t deadline_at_ms = 0;   // the same as Unix time; 0: none
  std::string idempotency_key;  // of the call that made it; empty: none
  uint64_t after_sequence = 0;  // what that call was answered; kept of a turn with a key
  policy::Budget used;          // its workers included
  uint32_t token_permille = 0;  // memory::TokenScale after it; 0: its provider reported no tokens
  memory::Summary summary;      // that it made; without messages: none
  // Whether the event of its end is known to be in the journal. May be false for one that is: then
  // the journal's end is looked at after a restart.
  bool announced = false;
  friend bool operator==(const TurnRecord&, const TurnRecord&) = default;
};

// Of a session that another one's turn started, with worker_call.
struct Parent {
  std::string session_id;            // empty: a client made the session
  std::string turn_id;               // of that session
  std::vector<std::string> callers;  // ids of agents, the first caller's first
  friend bool operator==(const Parent&, const Parent&) = default;
};

struct SessionRecord {
  std::string id;
  bundle::BundlePin bundle;
  std::string agent_id;
  std::string model_provider, model_id;
  std::string created_at;
  std::string cwd;
  uint32_t owner_uid = kNobody;  // who made it
  bool allow_danger = false;     // and said that danger_full_access is meant
  bool review = false;           // and said that host directories are written on a copy
  bool reviews = false;          // some are: by that word, or by the bundle's
  // A request for approval without an answer by then is denied; 0: the operator's time.
  uint64_t approval_timeout_ms = 0;
  std::string forked_from;  // the session that it is a copy of; empty: none
  Parent parent;
  policy::Budget budget;              // of all its turns together
  std::set<std::string> env_sources;  // of the bundle's sandbox.env
  // Their values, where the owner's environment has one, and the inherited variables. Only the
  // latter are in the file: values of sources end with agentd, and the next turn brings them again.
  std::map<std::string, std::string> env;
  bool cell_used = false;   // a cell was prepared for it: there are directories to purge
  bool staged = false;      // its private workspace holds the bundle's files
  uint64_t jobs_begun = 0;  // background jobs, which are numbered
  std::vector<job::BegunJob> running_jobs;  // after a crash of agentd those that ended with it
  std::vector<TurnRecord> turns;
  // Of all turns; kept by the store.
  uint64_t message_count = 0;
  policy::Budget used;
  friend bool operator==(const SessionRecord&, const SessionRecord&) = default;
};

// Null: there is no such turn.
TurnRecord* FindTurn(SessionRecord& record, const std::string& turn_id);
const TurnRecord* FindTurn(const SessionRecord& record, const std::string& turn_id);

// The messages of all turns, in order.
std::vector<model::Message> HistoryOf(const SessionRecord& record);

// The values of the bundle's variables; not those that every command inherits, such as LANG.
std::map<std::string, std::string> SecretsOf(const SessionRecord& record);

// ↔ the session's file: pretty-printed JSON with `schema_version`. Its turns are in a file of their
// own (turn_log.h); those of a file of version 1 are decoded.
std::string EncodeSession(const SessionRecord& record);
// DATA_LOSS naming what is wrong.
Result<SessionRecord> DecodeSession(std::string_view text);

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_SESSION_RECORD_H_
