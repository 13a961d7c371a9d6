#ifndef ODYSSEY_CTL_EGRESS_EGRESS_VIEW_H_
#define ODYSSEY_CTL_EGRESS_EGRESS_VIEW_H_

// Decisions of odyssey-egress, as the audit log has them, for people. Pure. Hosts and paths are
// what cells chose: nothing of them reaches the terminal as it is.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "ctl/base/console.h"

namespace odyssey::ctl {

// Which records are meant.
struct EgressFilter {
  std::string cell;  // its id; "": of all
  bool denied = false;
};

// The record of a line of the log, if it is a decision that is meant; else null.
Json EgressRecordOf(std::string_view line, const EgressFilter& filter);

// A member of a record; "" if it has none that is a text.
std::string TextOf(const Json& record, const char* name);

// "18:02:11 denied  GET api.example.com:443/v1  /usr/bin/curl  policy_denied: …".
std::string FormatEgress(const Json& record, bool color);

// Decisions by host and port.
class EgressTotals final {
 public:
  void Add(const Json& record);
  // The busiest first, at most `rows`.
  std::string Table(size_t rows) const;
  Json ToJson() const;

 private:
  struct Total {
    uint64_t allowed = 0, denied = 0, audited = 0;
    std::map<std::string, uint64_t> programs;
    std::string last_time, last_code;
  };
  std::map<std::string, Total> totals_;  // by "HOST:PORT"
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_EGRESS_EGRESS_VIEW_H_
