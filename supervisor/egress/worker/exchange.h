#ifndef ODYSSEY_SUPERVISOR_EGRESS_WORKER_EXCHANGE_H_
#define ODYSSEY_SUPERVISOR_EGRESS_WORKER_EXCHANGE_H_

// Requests of HTTP/1.1 on one connection of a client: each is decided on its own, written anew for
// its server, and answered by it or with a refusal.

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/awaitable.hpp>

#include "supervisor/egress/http/framing.h"
#include "supervisor/egress/http/refusal.h"
#include "supervisor/egress/http/request_head.h"
#include "supervisor/egress/worker/judge.h"
#include "supervisor/egress/worker/outgoing.h"
#include "supervisor/egress/worker/stream.h"

namespace odyssey::egress {

class Exchange final {
 public:
  // `client` is borrowed.
  Exchange(Worker* worker, Stream* client, Arrival arrival);

  // A connection to the arrival's server that is there already.
  void Adopt(std::unique_ptr<Stream> upstream);

  // Until one side ends, a request is refused, or a CONNECT comes, which is returned; what follows
  // it is in buffered(). `first`: read already.
  asio::awaitable<std::optional<http::RequestHead>> Run(std::string first);
  std::string TakeBuffered() { return std::move(buffer_); }

  // Answers with the refusal, and reports it.
  asio::awaitable<void> Refuse(const Passage& passage, http::Refusal refusal);

 private:
  void Report(const Passage& passage, const http::Refusal& refusal);
  asio::awaitable<std::optional<http::RequestHead>> ReadHead();
  // true: another request may follow.
  asio::awaitable<bool> Serve(const http::RequestHead& head);
  asio::awaitable<bool> Reach(const Passage& passage);
  asio::awaitable<bool> Forward(const http::RequestHead& head, Outgoing* out);
  // nullopt: it was refused, or did not come.
  asio::awaitable<std::optional<std::string>> TakeBodyOf(const Passage& passage,
                                                         const http::RequestHead& head,
                                                         uint64_t limit);
  std::pair<Passage, int> FailureOf(const Passage& passage) const;
  asio::awaitable<bool> SendBody(const http::RequestHead& head, Outgoing* out);
  asio::awaitable<bool> Answer(const http::RequestHead& head, Outgoing* out, int* status);
  enum class Copied {
    kWhole,
    kBroken,    // what `from` sent is no body, or was cut
    kNotTaken,  // by `to`
    kRefused,   // for what the filter found
  };
  enum class OnFound { kGoOn, kStop };
  // Through `filter`. `head` is written before, in one piece with what is there of the body: a
  // segment of TCP less for each small response.
  asio::awaitable<Copied> CopyBody(Stream* from, std::string* buffered, http::Framing framing,
                                   Stream* to, http::Framing framed, credentials::Replacer* filter,
                                   OnFound on_found, std::string head);

  Worker* const worker_;
  Stream* const client_;
  const Arrival arrival_;
  std::string buffer_;  // of the client
  // To the server of the request before.
  std::unique_ptr<Stream> upstream_;
  Connection upstream_to_;
  std::string upstream_buffer_;
  std::optional<IdleLimit> answer_limit_;  // while the head of a response is waited for
  bool broken_ = false;                    // the body of a request was
  bool stalled_ = false;                   // it did not come
  bool switched_ = false;                  // the server agreed on a WebSocket
};

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_WORKER_EXCHANGE_H_
