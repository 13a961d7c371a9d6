#ifndef ODYSSEY_COMMON_AUDIT_RATE_LIMIT_H_
#define ODYSSEY_COMMON_AUDIT_RATE_LIMIT_H_

// Which records of a storm are written and which are only counted: the first of each second, by
// what they are about. Nothing is lost without a count. Pure.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/audit/record.h"

namespace odyssey::audit {

class RateLimit final {
 public:
  static constexpr auto kInterval = std::chrono::seconds(1);
  static constexpr uint32_t kPerInterval = 32;
  static constexpr size_t kMaxSubjects =
      256;  // told apart; what comes beside them shares one count

  struct Subject {
    std::string type;   // of the records
    std::string about;  // a cell, for example
    friend auto operator<=>(const Subject&, const Subject&) = default;
  };
  struct Suppressed {
    Subject subject;
    uint64_t count = 0;
    friend bool operator==(const Suppressed&, const Suppressed&) = default;
  };

  // True if it is to be written; false: it has been counted.
  bool Admit(const Subject& subject, Time now);

  // What is not written whatever the rate.
  void Count(const Subject& subject, uint64_t count, Time now);
  // Whether a count is being kept.
  bool pending() const { return !intervals_.empty() || !ended_.empty(); }

  // The counts of intervals that have ended by `now`, each once.
  std::vector<Suppressed> TakeEnded(Time now);
  // And of those that have not.
  std::vector<Suppressed> TakeAll();

 private:
  struct Interval {
    Time begin;
    uint32_t written = 0;
    uint64_t suppressed = 0;
  };
  Interval* Find(const Subject& subject, Time now);

  std::map<Subject, Interval> intervals_;
  std::vector<Suppressed> ended_;  // whose interval a later record ended
};

}  // namespace odyssey::audit

#endif  // ODYSSEY_COMMON_AUDIT_RATE_LIMIT_H_
