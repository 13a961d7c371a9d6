#ifndef ODYSSEY_SUPERVISOR_EGRESS_WORKER_LEDGER_H_
#define ODYSSEY_SUPERVISOR_EGRESS_WORKER_LEDGER_H_

// What the broker is sent of what the cell did and used: records, of which a storm is counted, and
// the bytes that count against budgets, for the cell's next worker and for metrics. For the loop's
// thread alone.

#include <memory>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/audit/rate_limit.h"
#include "supervisor/egress/limits/meter.h"
#include "supervisor/egress/link/link.h"
#include "supervisor/wire/egress_wire.h"

namespace odyssey::egress {

class Ledger final {
 public:
  Ledger(asio::io_context* loop, std::shared_ptr<Link> broker, uint64_t per_host);

  // Of each verdict the first few of a second are sent, and at its end the count of the others.
  void Report(const egress_wire::Record& record);

  // nullptr: refused, see `why`.
  std::unique_ptr<Meter::Account> Open(const std::string& host, const std::vector<Pair>& pairs,
                                       Excess* why);
  Meter* meter() { return &meter_; }

  // Sends what has not been sent.
  void Flush();

 private:
  void FlushLater();
  void SendUsed();
  void SendCounts(const std::vector<audit::RateLimit::Suppressed>& counts);

  const std::shared_ptr<Link> broker_;
  Meter meter_;
  audit::RateLimit limit_;
  asio::steady_timer timer_;
  bool waiting_ = false;
};

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_WORKER_LEDGER_H_
