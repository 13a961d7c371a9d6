#ifndef ODYSSEY_SUPERVISOR_EGRESS_LIMITS_METER_H_
#define ODYSSEY_SUPERVISOR_EGRESS_LIMITS_METER_H_

// What a cell has used of its budgets, and which of them refuses more. Budgets are the policy's: of
// the cell, and of each endpoint that allows a connection; every one of them counts. No clock. For
// one thread.

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policy/egress/decision.h"
#include "policy/egress/network_policy.h"

namespace odyssey::egress {

using SteadyTime = std::chrono::steady_clock::time_point;

// The code of a refusal by a budget, and of one by a bound of odyssey-egress.
inline constexpr char kBudgetExceeded[] = "budget_exceeded";
inline constexpr char kOverloaded[] = "overloaded";

inline constexpr char kNoDescriptors[] = "odyssey-egress-worker may open no more descriptors";

// Why something is refused.
struct Excess {
  std::string code;
  std::string reason;                   // for people
  std::chrono::seconds retry_after{0};  // 0: waiting does not help
};

enum class Direction { kUp, kDown };  // to servers, from servers

// Bytes of the cell's life.
struct Used {
  std::string key;  // of an endpoint; "": the whole cell
  uint64_t up = 0;
  uint64_t down = 0;
  uint64_t open = 0;  // connections, now
  friend bool operator==(const Used&, const Used&) = default;
};

class Meter final {
 public:
  // `per_host`: connections to one host at a time.
  explicit Meter(uint64_t per_host);
  ~Meter();

  // The budgets from now on. What was used stays used.
  void SetPolicy(const NetworkPolicy& policy);

  // A connection to a server, open until it is destroyed; may outlive the meter.
  class Account;
  // nullptr: refused, see `why`.
  std::unique_ptr<Account> Open(const std::string& host, const std::vector<Pair>& pairs,
                                SteadyTime now, Excess* why);

  // One request.
  std::optional<Excess> AddRequest(const std::vector<Pair>& pairs, SteadyTime now);

  // What an earlier meter of the cell counted; the larger count holds.
  void Restore(const Used& used);
  // Whether a connection is open.
  bool is_open() const;
  // What has changed since the last call.
  std::vector<Used> TakeChanged();

 private:
  struct Line;
  std::shared_ptr<Line> LineOf(const std::string& key);
  std::vector<std::shared_ptr<Line>> LinesOf(const std::vector<Pair>& pairs);
  std::shared_ptr<Line> HostLine(const std::string& host);

  const uint64_t per_host_;
  std::map<std::string, Budget> budgets_;  // by key
  std::map<std::string, std::shared_ptr<Line>>
      lines_;  // by key: of the policies that were in force
  std::map<std::string, std::shared_ptr<Line>> hosts_;
  size_t sweep_hosts_at_;
};

class Meter::Account final {
 public:
  explicit Account(std::vector<std::shared_ptr<Line>> lines);
  ~Account();
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;

  // false: these bytes exceed a budget and may not be passed on, nor any after them.
  bool Count(Direction direction, uint64_t bytes);
  // Why Count returned false.
  const std::optional<Excess>& excess() const { return excess_; }

 private:
  const std::vector<std::shared_ptr<Line>> lines_;
  std::optional<Excess> excess_;
};

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_LIMITS_METER_H_
