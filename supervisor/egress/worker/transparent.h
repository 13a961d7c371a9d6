#ifndef ODYSSEY_SUPERVISOR_EGRESS_WORKER_TRANSPARENT_H_
#define ODYSSEY_SUPERVISOR_EGRESS_WORKER_TRANSPARENT_H_

#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/address.hpp>

#include "supervisor/egress/worker/worker.h"

namespace odyssey::egress {

// A client that knows of no proxy: the address it connected to stands for a name that it looked up,
// or is meant.
asio::awaitable<void> ServeTransparent(Worker* worker, Tcp::socket client);

// The name that the cell's resolver gave the address for; nullopt: none.
std::optional<std::string> NameOf(Worker* worker, const asio::ip::address& address);

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_WORKER_TRANSPARENT_H_
