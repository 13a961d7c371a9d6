#ifndef ODYSSEY_AGENTD_APPROVAL_REGISTRY_H_
#define ODYSSEY_AGENTD_APPROVAL_REGISTRY_H_

// The questions that wait for a person, and what sessions were granted. A shared registry;
// thread-safe.

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "odyssey/agent/v1/approval.pb.h"

namespace odyssey::approval {

enum class Decision { kAllowOnce, kAllowAlways, kDeny };

// "allow_once", "allow_always", "deny".
std::string_view DecisionName(Decision decision);

// Open until it is answered or taken back.
using Question = agent::v1::Approval;

struct Answer {
  Decision decision = Decision::kDeny;
  std::string note;
  uint32_t by_uid = 0;
  std::string by = "client";  // as ApprovalResolved.by
  // Of a request with grants that is allowed; unspecified: the call.
  agent::v1::GrantScope grant_scope = agent::v1::GRANT_SCOPE_UNSPECIFIED;
  uint64_t grant_duration_ms = 0;  // with GRANT_SCOPE_SESSION; 0: no end
  std::string token_id;            // of the token that stood for by_uid; for the log
  friend bool operator==(const Answer&, const Answer&) = default;
};

// Requests of one session within a minute; those beyond are denied without asking.
inline constexpr size_t kMaxAsksPerMinute = 30;

// How long a grant may last, where an answer says so.
inline constexpr uint64_t kMaxGrantDurationMs = uint64_t{30} * 24 * 3600 * 1000;

// Whether the answer is one to the request: INVALID_ARGUMENT names the field that is not.
Status CheckAnswer(const agent::v1::PermissionRequested& request, const Answer& answer);

// SHA-256, hex, over the request without its digest.
std::string DigestOf(agent::v1::PermissionRequested request);

class Registry final {
 public:
  // Counts one request of the session. False: kMaxAsksPerMinute were counted in the last minute,
  // and this one is not.
  bool CountAsk(const std::string& session_id, std::chrono::system_clock::time_point now);

  // `on_answer` is called once, by the thread that answers; never after Drop or ClearSession.
  // `timeout`: what the question's expires_at is made of; 0: none.
  void Add(Question question, std::function<void(const Answer&)> on_answer,
           std::chrono::milliseconds timeout = {});

  // The open question; nothing: unknown, or answered already.
  std::optional<Question> Find(const std::string& request_id) const;

  // False: unknown, or answered already. kAllowAlways grants the question's scope to its session.
  bool Resolve(const std::string& request_id, const Answer& answer);

  // Takes a question back. An unknown one is fine.
  // False: it has been answered, and its callback has run or runs.
  bool Drop(const std::string& request_id);

  // Drops the session's questions and grants.
  void ClearSession(const std::string& session_id);

  bool IsGranted(const std::string& session_id, const std::string& scope) const;

  // What was granted to the session, oldest first, each scope once.
  std::vector<agent::v1::AllowedScope> Allowed(const std::string& session_id) const;
  // Takes a scope back, or each one for "". Returns how many there were.
  size_t Forget(const std::string& session_id, const std::string& scope);

  size_t size() const;

  struct Open {
    uint64_t ordinal = 0;  // grows with each question
    Question question;
    std::chrono::milliseconds timeout{};
  };
  // Open questions added after `ordinal` (0: all), oldest first; of every session for "".
  std::vector<Open> After(uint64_t ordinal, const std::string& session_id) const;

  // If no open question was added after `ordinal`: keeps `ready`, calls it once when one is, from
  // the adding thread, and returns true. Otherwise returns false.
  bool NotifyAfter(uint64_t ordinal, std::function<void()> ready);

  // The ordinal of the latest question; what NotifyAfter goes on from.
  uint64_t last_ordinal() const;

 private:
  void GrantLocked(const Question& question, const Answer& answer);

  struct Entry {
    uint64_t ordinal = 0;
    Question question;
    std::function<void(const Answer&)> on_answer;
    std::chrono::milliseconds timeout{};
  };

  mutable std::mutex mutex_;
  // All below: guarded by mutex_.
  uint64_t last_ordinal_ = 0;
  std::map<std::string, Entry> open_;                                              // by request id
  std::map<std::string, std::vector<agent::v1::AllowedScope>> granted_;            // by session
  std::map<std::string, std::deque<std::chrono::system_clock::time_point>> asks_;  // by session
  std::vector<std::function<void()>> waiters_;
};

}  // namespace odyssey::approval

#endif  // ODYSSEY_AGENTD_APPROVAL_REGISTRY_H_
