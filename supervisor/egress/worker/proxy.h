#ifndef ODYSSEY_SUPERVISOR_EGRESS_WORKER_PROXY_H_
#define ODYSSEY_SUPERVISOR_EGRESS_WORKER_PROXY_H_

#include <boost/asio/awaitable.hpp>

#include "supervisor/egress/worker/worker.h"

namespace odyssey::egress {

// A client of the port that HTTP_PROXY and ALL_PROXY name: CONNECT, requests with an absolute
// target, or SOCKS5, told apart by the first byte.
asio::awaitable<void> ServeProxy(Worker* worker, Tcp::socket client);

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_WORKER_PROXY_H_
