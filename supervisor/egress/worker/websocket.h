#ifndef ODYSSEY_SUPERVISOR_EGRESS_WORKER_WEBSOCKET_H_
#define ODYSSEY_SUPERVISOR_EGRESS_WORKER_WEBSOCKET_H_

#include <string>

#include <boost/asio/awaitable.hpp>

#include "supervisor/egress/worker/credential_use.h"
#include "supervisor/egress/worker/stream.h"
#include "supervisor/egress/worker/tunnel.h"
#include "supervisor/egress/worker/worker.h"

namespace odyssey::egress {

// Whether the endpoints of a request that was allowed let it open a WebSocket.
bool MayOpenWebSocket(const Decision& decision);

// One end of a WebSocket. `stream` is borrowed.
struct WebSocketEnd {
  Stream* stream = nullptr;
  std::string buffered;  // read behind the head
};

// The messages of a WebSocket that `upgrade` opened, as `passage` was decided: read and written
// anew in both directions. On endpoints of protocol websocket each text message of the client is
// decided before the server gets a byte of it. What is refused or malformed closes both ends, as
// does a new policy that refuses the upgrade. `credentials`, which is borrowed, puts secrets into
// texts of the client, and none comes back. Until both have ended.
asio::awaitable<void> ServeWebSocket(Worker* worker, Passage passage, Request upgrade,
                                     CredentialUse* credentials, WebSocketEnd client,
                                     WebSocketEnd server);

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_WORKER_WEBSOCKET_H_
