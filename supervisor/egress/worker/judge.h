#ifndef ODYSSEY_SUPERVISOR_EGRESS_WORKER_JUDGE_H_
#define ODYSSEY_SUPERVISOR_EGRESS_WORKER_JUDGE_H_

// Whether one request may go to its server, whichever version of HTTP carries it.

#include <functional>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>

#include "supervisor/egress/http/path.h"
#include "supervisor/egress/http/refusal.h"
#include "supervisor/egress/http/request_head.h"
#include "supervisor/egress/worker/tunnel.h"
#include "supervisor/egress/worker/worker.h"

namespace odyssey::egress {

// The one server of a connection that is no proxy's.
struct Server {
  std::string host;
  uint16_t port = 0;
  bool tls = false;
};

// The client's connection that requests come on.
struct Arrival {
  Program program;
  std::string way;               // as of Record
  std::optional<Server> server;  // without, each request names its own
};

struct Judgement {
  Passage passage;
  int status = 0;                   // of a refusal; 0: it may go on
  http::CanonicalPath path;         // of one that may go on
  std::optional<std::string> body;  // all of it, where the request was judged by it
  Request request;                  // as it was judged, where requests are
};

// The request's body without framing: all of it, or a little more than `limit` bytes. nullopt: it
// did not come, or it was none and that is answered.
using TakeBody =
    std::function<asio::awaitable<std::optional<std::string>>(const Passage&, uint64_t limit)>;

// By the policy of now. What is audited is reported here, a refusal is the caller's to report.
// nullopt: as TakeBody.
asio::awaitable<std::optional<Judgement>> JudgeRequest(Worker* worker, const Arrival& arrival,
                                                       const http::RequestHead& head,
                                                       const TakeBody& take_body);

// What a refused passage is to a client. `head` may be null.
http::Refusal RefusalOf(const Passage& passage, int status, const http::RequestHead* head);

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_WORKER_JUDGE_H_
