#ifndef ODYSSEY_SUPERVISOR_EGRESS_WORKER_OUTGOING_H_
#define ODYSSEY_SUPERVISOR_EGRESS_WORKER_OUTGOING_H_

// A request as its server is sent it, whichever version of HTTP carries it.

#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>

#include "supervisor/egress/http/request_head.h"
#include "supervisor/egress/worker/credential_use.h"
#include "supervisor/egress/worker/judge.h"
#include "supervisor/egress/worker/worker.h"

namespace odyssey::egress {

struct Outgoing {
  Judgement judged;           // its body, if it was taken, is what is sent
  std::string head;           // of one that may go on, as http::WriteRequestHead made it
  CredentialUse credentials;  // of this request, and of its response
};

// Puts the cell's secrets of now into a request that was judged, and writes its head. A judgement
// that is a refusal stays one, and a request that may go on can become one, which is the caller's
// to report. nullopt: as TakeBody.
asio::awaitable<std::optional<Outgoing>> PrepareRequest(Worker* worker, const Arrival& arrival,
                                                        const http::RequestHead& head,
                                                        Judgement judged,
                                                        const TakeBody& take_body);

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_WORKER_OUTGOING_H_
