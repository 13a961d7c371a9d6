#ifndef ODYSSEY_SUPERVISOR_EGRESS_WORKER_NAME_SERVER_H_
#define ODYSSEY_SUPERVISOR_EGRESS_WORKER_NAME_SERVER_H_

#include <boost/asio/awaitable.hpp>

#include "common/os/unique_fd.h"
#include "supervisor/egress/worker/worker.h"

namespace odyssey::egress {

// The cell's name server: a name that the policy names for some program gets an address that stands
// for it, every other one does not exist. No query leaves the machine.
asio::awaitable<void> ServeNames(Worker* worker, UniqueFd datagrams);
asio::awaitable<void> ServeNameStream(Worker* worker, Tcp::socket client);

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_WORKER_NAME_SERVER_H_
