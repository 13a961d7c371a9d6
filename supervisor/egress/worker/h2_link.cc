#include "supervisor/egress/worker/h2_link.h"

#include <utility>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace odyssey::egress {
namespace {

using Kind = h2::Event::Kind;

constexpr auto kForever = asio::steady_timer::time_point::max();

// Until the timer is cancelled: true, or its time is over.
asio::awaitable<bool> Changed(asio::steady_timer* timer) {
  boost::system::error_code error;
  co_await timer->async_wait(asio::redirect_error(asio::use_awaitable, error));
  co_return error == asio::error::operation_aborted;
}

}  // namespace

H2Stream::H2Stream(H2Link* link, h2::StreamId id)
    : link_(link),
      id_(id),
      readable_(link->stream_->socket().get_executor()),
      writable_(link->stream_->socket().get_executor()) {}

// GCC 12 resumes a coroutine with a frame that is not its own where a `while` has an `if` that
// waits and leaves it; so the loops here have the waiting alone.
asio::awaitable<const http::ResponseHead*> H2Stream::ReadHead(std::chrono::milliseconds time) {
  readable_.expires_after(time);
  bool in_time = true;
  while (in_time && !has_head_ && !closed_) in_time = co_await Changed(&readable_);
  co_return has_head_ ? &head_ : nullptr;
}

asio::awaitable<H2Stream::Part> H2Stream::Read(std::string* to, std::chrono::milliseconds time) {
  readable_.expires_after(time);
  bool in_time = true;
  while (in_time && bytes_.empty() && !ended_ && !closed_) in_time = co_await Changed(&readable_);
  *to = std::exchange(bytes_, {});
  if (!to->empty()) co_return Part::kBytes;
  co_return ended_ ? Part::kEnd : Part::kCut;
}

void H2Stream::Credit(size_t bytes) {
  link_->session_.Credit(id_, bytes);
  link_->Flush();
}

asio::awaitable<bool> H2Stream::Write(std::string_view bytes) {
  if (closed_) co_return false;
  taken_ = bytes.empty();
  Send(bytes);
  writable_.expires_at(kForever);
  while (!taken_ && !closed_) co_await Changed(&writable_);
  co_return taken_;
}

void H2Stream::Send(std::string_view bytes) {
  link_->session_.Send(id_, bytes);
  link_->Flush();
}

void H2Stream::Respond(const http::Fields& fields, bool ended) {
  responded_ = true;
  link_->session_.Respond(id_, fields, ended);
  link_->Flush();
}

void H2Stream::Continue() {
  link_->session_.Continue(id_);
  link_->Flush();
}

void H2Stream::End(http::Fields trailers) {
  link_->session_.End(id_, std::move(trailers));
  link_->Flush();
}

void H2Stream::Reset(h2::ErrorCode code) {
  link_->session_.Reset(id_, code);
  link_->Flush();
}

void H2Stream::ResetOnceEnded() {
  link_->session_.ResetOnceEnded(id_);
  link_->Flush();
}

void H2Stream::OnEvent(h2::Event* event) {
  switch (event->kind) {
    case Kind::kRequest:
    case Kind::kUnreadable:
      ended_ = event->ended;
      break;
    case Kind::kResponse:
      has_head_ = true;
      head_ = std::move(event->response);
      only_head_ = ended_ = event->ended;
      break;
    case Kind::kData:
      bytes_ += event->bytes;
      break;
    case Kind::kEnd:
      ended_ = true;
      trailers_ = std::move(event->trailers);
      break;
    case Kind::kRejected:
      malformed_ = std::move(event->error.reason);
      break;
    case Kind::kTaken:
      taken_ = true;
      break;
    case Kind::kClosed:
      OnClosed(event->code);
      break;
  }
  Wake();
}

void H2Stream::OnClosed(h2::ErrorCode code) {
  closed_ = true;
  code_ = code;
  if (on_closed_) std::exchange(on_closed_, {})();
}

void H2Stream::Wake() {
  readable_.cancel();
  writable_.cancel();
}

H2Link::H2Link(Stream* stream, h2::Side side)
    : stream_(stream), session_(side), output_(stream->socket().get_executor()) {}

std::shared_ptr<H2Stream> H2Link::Request(const http::Fields& fields, bool ended,
                                          h2::Indexing indexing) {
  const h2::StreamId id = ended_ ? 0 : session_.Request(fields, ended, indexing);
  if (id == 0) return nullptr;
  Flush();
  return streams_[id] = std::make_shared<H2Stream>(this, id);
}

void H2Link::Flush() {
  flush_ = true;
  output_.cancel();
}

void H2Link::GoAway() {
  session_.GoAway();
  Flush();
}

asio::awaitable<void> H2Link::Run() {
  using asio::experimental::awaitable_operators::operator&&;
  co_await (ReadAll() && WriteAll());
}

// What arrives after the end is read too: closing with bytes unread would reset the connection, and
// with it what was sent last.
asio::awaitable<void> H2Link::ReadAll() {
  std::string bytes;
  for (;;) {
    bytes.clear();
    const Result<bool> more = co_await stream_->Read(&bytes);
    if (!more.ok() || !*more) break;
    session_.Receive(bytes, std::chrono::steady_clock::now());
    Dispatch();
    Flush();
  }
  ended_ = true;
  for (const auto& [id, stream] : std::exchange(streams_, {})) {
    stream->lost_ = true;
    stream->OnClosed(h2::ErrorCode::kInternalError);
    stream->Wake();
  }
  Flush();
}

asio::awaitable<void> H2Link::WriteAll() {
  while (!ended_) {
    flush_ = false;
    const std::string out = session_.TakeOutput();
    Dispatch();
    if (!out.empty()) {
      if (!(co_await stream_->Write(out)).ok()) break;
      continue;
    }
    if (session_.over()) break;
    if (flush_) continue;  // by what was dispatched
    output_.expires_at(kForever);
    co_await Changed(&output_);
  }
  if (!ended_) co_await stream_->Finish();
  boost::system::error_code ignored;
  stream_->socket().close(ignored);
}

void H2Link::Dispatch() {
  for (h2::Event& event : session_.TakeEvents()) {
    const bool request = event.kind == Kind::kRequest || event.kind == Kind::kUnreadable;
    if (request) streams_[event.stream] = std::make_shared<H2Stream>(this, event.stream);
    const auto found = streams_.find(event.stream);
    const auto stream = found == streams_.end() ? nullptr : found->second;
    if (event.kind == Kind::kClosed && stream != nullptr) streams_.erase(found);
    if (stream != nullptr) stream->OnEvent(&event);
    if (on_request_ && (request || (stream == nullptr && event.kind == Kind::kRejected))) {
      on_request_(stream, std::move(event));
    }
  }
}

}  // namespace odyssey::egress
