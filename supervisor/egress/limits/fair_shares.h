#ifndef ODYSSEY_SUPERVISOR_EGRESS_LIMITS_FAIR_SHARES_H_
#define ODYSSEY_SUPERVISOR_EGRESS_LIMITS_FAIR_SHARES_H_

// Places that are shared between owners: so many in all, so many of one owner. What finds none
// waits, and owners that wait take turns: one that asks for a thousand does not keep another
// waiting for them. For one thread.

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>

namespace odyssey::egress {

class FairShares final {
 public:
  using Owner = const void*;

  FairShares(uint32_t in_all, uint32_t each) : in_all_(in_all), each_(each) {}

  // Calls `start`, now or when its turn comes. false: the owner has `max_waiting` waiting already.
  bool Ask(Owner owner, size_t max_waiting, std::function<void()> start);
  // Of something that was started.
  void Release(Owner owner);
  // What waits is not started.
  void Forget(Owner owner);

 private:
  struct Share {
    uint32_t taken = 0;
    std::deque<std::function<void()>> waiting;
  };
  void StartNext();

  const uint32_t in_all_, each_;
  uint32_t taken_ = 0;
  std::map<Owner, Share> shares_;
  std::list<Owner> turns_;  // of those with something waiting and a place of their own left
};

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_LIMITS_FAIR_SHARES_H_
