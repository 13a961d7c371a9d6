#ifndef ODYSSEY_SUPERVISOR_EGRESS_WORKER_INFERENCE_EXCHANGE_H_
#define ODYSSEY_SUPERVISOR_EGRESS_WORKER_INFERENCE_EXCHANGE_H_

// A request to inference.local: asked of the cell's routes, one after the other, until one answers;
// the answer is passed on as it comes.

#include <functional>

#include <boost/asio/awaitable.hpp>

#include "supervisor/egress/http/refusal.h"
#include "supervisor/egress/worker/judge.h"
#include "supervisor/egress/worker/stream.h"
#include "supervisor/egress/worker/worker.h"

namespace odyssey::egress {

// A request that may go on, and what the client's connection does for it. `head` and `judged`
// outlive the call.
struct InferenceCall {
  const http::RequestHead& head;
  const Judgement& judged;
  TakeBody take_body;
  // Answers, and reports it.
  std::function<asio::awaitable<void>(const Passage&, http::Refusal)> refuse;
};

// `client` receives an answer of HTTP/1.1. true: another request may follow. One record, when it is
// known what the answer took.
asio::awaitable<bool> ServeInference(Worker* worker, Stream* client, InferenceCall call);

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_WORKER_INFERENCE_EXCHANGE_H_
