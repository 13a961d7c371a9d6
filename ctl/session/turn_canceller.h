#ifndef ODYSSEY_CTL_SESSION_TURN_CANCELLER_H_
#define ODYSSEY_CTL_SESSION_TURN_CANCELLER_H_

#include <string>
#include <thread>

#include "common/os/unique_fd.h"
#include "ctl/base/console.h"
#include "ctl/base/locations.h"

namespace odyssey::ctl {

// Cancels a turn, on a thread of its own: the call returns when the turn has ended, whose events
// go on meanwhile. A failure is reported on `console`, which outlives it.
class TurnCanceller final {
 public:
  TurnCanceller(const Console& console, Locations locations, std::string session_id,
                std::string turn_id);
  // Gives the call up if it has not returned.
  ~TurnCanceller();
  TurnCanceller(const TurnCanceller&) = delete;
  TurnCanceller& operator=(const TurnCanceller&) = delete;

  // Until the turn has ended.
  void Wait();

 private:
  void Cancel();

  const Console& console_;
  const Locations locations_;
  const std::string session_id_, turn_id_;
  const UniqueFd stop_;  // eventfd
  std::thread thread_;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_SESSION_TURN_CANCELLER_H_
