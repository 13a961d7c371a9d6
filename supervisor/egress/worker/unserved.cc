#include "supervisor/egress/worker/unserved.h"

#include <utility>

#include "policy/egress/reach.h"
#include "supervisor/egress/worker/transparent.h"
#include "supervisor/egress/worker/tunnel.h"

namespace odyssey::egress {

void ReportUnserved(Worker* worker, const std::string& destination, const Program& program,
                    const std::set<uint16_t>& served) {
  if (destination.empty()) return;
  const Result<Destination> to = ParseDestination(destination);
  if (!to.ok() || served.count(to->port) != 0) return;
  boost::system::error_code error;
  const auto address = asio::ip::make_address(to->host, error);
  Passage passage{.way = "tcp"};
  passage.to = {.host = error ? to->host : NameOf(worker, address).value_or(to->host),
                .port = to->port,
                .program = program};
  Decide(worker, &passage);
  // A policy that came meanwhile may name the port: what connects again is served.
  if (passage.decision.allowed) return;
  worker->Report(RecordOf(passage));
}

}  // namespace odyssey::egress
