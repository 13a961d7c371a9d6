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
#include <set>
#include <string>
#include <utility>
#include <vector>

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
  friend bool operator==(const Answer&, const Answer&) = default;
};

// Requests of one session within a minute; those beyond are denied without asking.
inline constexpr size_t kMaxAsksPerMinute = 30;

// SHA-256, hex, over the request without its digest.
std::string DigestOf(agent::v1::PermissionRequested request);

class Registry final {
 public:
  // Counts one request of the session. False: kMaxAsksPerMinute were counted in the last minute,
  // and this one is not.
  bool CountAsk(const std::string& session_id, std::chrono::system_clock::time_point now);

  // `on_answer` is called once, by the thread that answers; never after Drop or ClearSession.
  void Add(Question question, std::function<void(const Answer&)> on_answer);

  // The open question; nothing: unknown, or answered already.
  std::optional<Question> Find(const std::string& request_id) const;

  // False: unknown, or answered already. kAllowAlways grants the question's scope to its session.
  bool Resolve(const std::string& request_id, const Answer& answer);

  // Takes a question back. An unknown one is fine.
  void Drop(const std::string& request_id);

  // Drops the session's questions and grants.
  void ClearSession(const std::string& session_id);

  bool IsGranted(const std::string& session_id, const std::string& scope) const;

  size_t size() const;

  struct Open {
    uint64_t ordinal = 0;  // grows with each question
    Question question;
  };
  // Open questions added after `ordinal` (0: all), oldest first; of every session for "".
  std::vector<Open> After(uint64_t ordinal, const std::string& session_id) const;

  // If no open question was added after `ordinal`: keeps `ready`, calls it once when one is, from
  // the adding thread, and returns true. Otherwise returns false.
  bool NotifyAfter(uint64_t ordinal, std::function<void()> ready);

  // The ordinal of the latest question; what NotifyAfter goes on from.
  uint64_t last_ordinal() const;

 private:
  struct Entry {
    uint64_t ordinal = 0;
    Question question;
    std::function<void(const Answer&)> on_answer;
  };

  mutable std::mutex mutex_;
  // All below: guarded by mutex_.
  uint64_t last_ordinal_ = 0;
  std::map<std::string, Entry> open_;                                              // by request id
  std::set<std::pair<std::string, std::string>> granted_;                          // session, scope
  std::map<std::string, std::deque<std::chrono::system_clock::time_point>> asks_;  // by session
  std::vector<std::function<void()>> waiters_;
};

}  // namespace odyssey::approval

#endif  // ODYSSEY_AGENTD_APPROVAL_REGISTRY_H_
