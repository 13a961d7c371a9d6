#ifndef ODYSSEY_SUPERVISOR_EGRESS_WORKER_TERMINATE_H_
#define ODYSSEY_SUPERVISOR_EGRESS_WORKER_TERMINATE_H_

#include <string>

#include <boost/asio/awaitable.hpp>

#include "supervisor/egress/worker/tunnel.h"

namespace odyssey::egress {

// A connection whose requests are decided one by one: TLS is ended here, with a certificate of the
// cell's own authority for the host that was asked for, and spoken anew with the server. Requests
// without TLS are read as they are. Anything else is closed. `first`: read already.
asio::awaitable<void> ServeTerminated(Worker* worker, Passage passage, Tcp::socket client,
                                      std::string first);

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_WORKER_TERMINATE_H_
