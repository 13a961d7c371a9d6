#ifndef ODYSSEY_SUPERVISOR_EGRESS_WORKER_H2_EXCHANGE_H_
#define ODYSSEY_SUPERVISOR_EGRESS_WORKER_H2_EXCHANGE_H_

// Requests of HTTP/2 on one connection of a client, whose server speaks it too: each stream is
// decided on its own, written anew on a stream of the server's connection, and answered by it or
// with a refusal. A refusal ends its stream, and no other.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "supervisor/egress/worker/h2_link.h"
#include "supervisor/egress/worker/judge.h"
#include "supervisor/egress/worker/outgoing.h"
#include "supervisor/egress/worker/stream.h"
#include "supervisor/egress/worker/worker.h"

namespace odyssey::egress {

class H2Exchange final : public std::enable_shared_from_this<H2Exchange> {
 public:
  // `client` and `server` are borrowed until Run is over. The arrival has a server.
  H2Exchange(Worker* worker, Stream* client, Stream* server, Arrival arrival);

  // Until one side ends, or no request came in a while.
  asio::awaitable<void> Run();

 private:
  using StreamPtr = std::shared_ptr<H2Stream>;
  asio::awaitable<void> RunClient();
  asio::awaitable<void> RunServer();
  asio::awaitable<void> EndWhenIdle();

  void OnRequest(StreamPtr client, h2::Event event);
  asio::awaitable<void> Serve(StreamPtr client, h2::Event event);
  asio::awaitable<void> Judge(StreamPtr client, const http::RequestHead& head);
  asio::awaitable<std::optional<std::string>> TakeBodyOf(H2Stream* client, const Passage& passage,
                                                         const http::RequestHead& head,
                                                         uint64_t limit);
  asio::awaitable<void> Forward(StreamPtr client, const http::RequestHead& head, Outgoing* out);
  asio::awaitable<void> SendBody(H2Stream* client, H2Stream* server, const http::RequestHead& head,
                                 Outgoing* out);
  asio::awaitable<void> Answer(H2Stream* client, H2Stream* server, const http::RequestHead& head,
                               Outgoing* out);
  // The server has answered nothing.
  void Fail(H2Stream* client, const H2Stream& server, const http::RequestHead& head,
            const Passage& passage);
  asio::awaitable<void> Refuse(H2Stream* client, Passage passage, http::Refusal refusal);
  void SendRefusal(H2Stream* client, const Passage& passage, const http::Refusal& refusal);
  void Report(const Passage& passage, const http::RequestHead& head, int status);
  // Of what is no request, or no HTTP/2.
  Passage Unread(const http::ParseError& error) const;

  Worker* const worker_;
  const Arrival arrival_;
  H2Link client_, server_;
  uint64_t served_ = 0;  // streams, ever
  uint32_t open_ = 0;    // streams that are served now
  asio::steady_timer idle_, closed_;
  std::optional<Deadline> server_deadline_;
};

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_WORKER_H2_EXCHANGE_H_
