#ifndef ODYSSEY_SUPERVISOR_EGRESS_WORKER_H2_LINK_H_
#define ODYSSEY_SUPERVISOR_EGRESS_WORKER_H2_LINK_H_

// A connection of HTTP/2 on its socket, and its streams as coroutines see them.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "supervisor/egress/h2/session.h"
#include "supervisor/egress/worker/stream.h"

namespace odyssey::egress {

class H2Link;

// One stream. One coroutine reads from it, another one may write to it.
class H2Stream final {
 public:
  H2Stream(H2Link* link, h2::StreamId id);

  // Of a response, and whether it is all of it. nullptr: the stream was closed without one, or the
  // time is over.
  asio::awaitable<const http::ResponseHead*> ReadHead(std::chrono::milliseconds time);
  bool is_only_head() const { return only_head_; }
  enum class Part {
    kBytes,
    kEnd,  // trailers() are there
    kCut,  // closed before its end, or the time is over
  };
  // Moves the bytes to `*to`, which the caller credits. `time` is for the next ones.
  asio::awaitable<Part> Read(std::string* to, std::chrono::milliseconds time);
  void Credit(size_t bytes);
  const http::Fields& trailers() const { return trailers_; }

  // Waits until the peer takes them. false: the stream is closed.
  asio::awaitable<bool> Write(std::string_view bytes);
  void Send(std::string_view bytes);  // without waiting: a few
  void Respond(const http::Fields& fields, bool ended);
  bool responded() const { return responded_; }
  void Continue();
  void End(http::Fields trailers);
  void Reset(h2::ErrorCode code);
  void ResetOnceEnded();

  // Called once, when it is closed.
  void set_on_closed(std::function<void()> on_closed) { on_closed_ = std::move(on_closed); }
  bool closed() const { return closed_; }
  bool lost() const { return lost_; }  // with its connection
  h2::ErrorCode code() const { return code_; }
  // Why what the peer sent is malformed; "" if it is not.
  const std::string& malformed() const { return malformed_; }

 private:
  friend class H2Link;
  void OnEvent(h2::Event* event);
  void OnClosed(h2::ErrorCode code);
  void Wake();

  H2Link* const link_;
  const h2::StreamId id_;
  asio::steady_timer readable_, writable_;  // cancelled when something changed
  bool has_head_ = false, only_head_ = false;
  http::ResponseHead head_;
  std::string bytes_;
  bool ended_ = false;
  http::Fields trailers_;
  bool taken_ = true, responded_ = false;
  std::function<void()> on_closed_;
  bool closed_ = false, lost_ = false;
  h2::ErrorCode code_ = h2::ErrorCode::kNoError;
  std::string malformed_;
};

class H2Link final {
 public:
  // `stream` is borrowed.
  H2Link(Stream* stream, h2::Side side);

  // A request of a client, or what came in place of one: kRequest and kUnreadable, with their
  // stream, and kRejected, without.
  using OnRequest = std::function<void(std::shared_ptr<H2Stream>, h2::Event)>;
  void set_on_request(OnRequest on_request) { on_request_ = std::move(on_request); }
  // A request to a server. nullptr: it takes none any more.
  std::shared_ptr<H2Stream> Request(const http::Fields& fields, bool ended, h2::Indexing indexing);

  // Until the connection is over; its streams are closed then.
  asio::awaitable<void> Run();
  void GoAway();
  Stream* stream() const { return stream_; }

 private:
  friend class H2Stream;
  asio::awaitable<void> ReadAll();
  asio::awaitable<void> WriteAll();
  void Dispatch();
  // There may be something to be written.
  void Flush();

  Stream* const stream_;
  h2::Session session_;
  OnRequest on_request_;
  std::map<h2::StreamId, std::shared_ptr<H2Stream>> streams_;
  asio::steady_timer output_;
  bool flush_ = false;
  bool ended_ = false;
};

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_WORKER_H2_LINK_H_
