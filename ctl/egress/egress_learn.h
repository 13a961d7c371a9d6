#ifndef ODYSSEY_CTL_EGRESS_EGRESS_LEARN_H_
#define ODYSSEY_CTL_EGRESS_EGRESS_LEARN_H_

// The smallest network policy that allows what cells connected to or were refused. Pure.

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "ctl/base/console.h"
#include "policy/egress/network_policy.h"

namespace odyssey::ctl {

class LearnedPolicy final {
 public:
  // `requests`: requests of HTTP become rules of their own, where the record has one.
  explicit LearnedPolicy(bool requests) : requests_(requests) {}

  // A decision of odyssey-egress, as the audit log has it.
  void Add(const Json& record);

  // A rule for each program. What no policy opens is not among it.
  egress::NetworkPolicy Policy() const;
  // Decisions that no rule could allow, or whose program is not known.
  uint64_t left_out() const { return left_out_; }

 private:
  struct Seen {
    std::set<std::pair<std::string, std::string>> requests;  // method and path
    bool bytes = false;                                      // a connection that was not inspected
  };
  const bool requests_;
  // By program, host and port.
  std::map<std::string, std::map<std::pair<std::string, uint16_t>, Seen>> seen_;
  uint64_t left_out_ = 0;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_EGRESS_EGRESS_LEARN_H_
