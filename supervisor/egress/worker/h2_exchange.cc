#include "supervisor/egress/worker/h2_exchange.h"

#include <stdio.h>

#include <chrono>
#include <string_view>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "supervisor/egress/h2/head.h"
#include "supervisor/egress/http/forward.h"

namespace odyssey::egress {
namespace {

using h2::ErrorCode;
using http::RequestHead;
using Part = H2Stream::Part;

// Between two parts of a body: streams of gRPC are silent for long.
constexpr auto kBodyTimeout = std::chrono::hours(24);
constexpr auto kEndTimeout = std::chrono::seconds(10);  // for what is not needed any more
constexpr size_t kMaxUnread = 1 << 20;                  // of a body that was refused
constexpr int kBadRequest = 400, kLate = 408, kBadGateway = 502;
using std::chrono::seconds;

asio::awaitable<void> Wait(asio::steady_timer* timer) {
  boost::system::error_code ignored;
  co_await timer->async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

// What the other side of a stream that was closed so is reset with.
ErrorCode CodeFor(const H2Stream& stream) {
  return stream.code() == ErrorCode::kNoError ? ErrorCode::kInternalError : stream.code();
}

// What the end of one means for the other.
void Join(const std::shared_ptr<H2Stream>& client, const std::shared_ptr<H2Stream>& server) {
  client->set_on_closed([ended = client.get(), weak = std::weak_ptr(server)] {
    const auto other = weak.lock();
    if (other != nullptr && ended->code() != ErrorCode::kNoError) other->Reset(ErrorCode::kCancel);
  });
  // It waits for no rest of the request, if there is one.
  server->set_on_closed([weak = std::weak_ptr(client)] {
    if (const auto other = weak.lock()) other->ResetOnceEnded();
  });
}

enum class OnFound { kGoOn, kStop };

// Through `filter`, until the body's end, which is left to the caller, until the filter has found
// something, with kStop, or until one of the streams is closed. What the filter holds back is
// credited too: the sender would else not send what ends the waiting.
asio::awaitable<Part> Copy(H2Stream* from, H2Stream* to, credentials::Replacer* filter,
                           OnFound on_found) {
  std::string bytes;
  for (;;) {
    const Part part = co_await from->Read(&bytes, kBodyTimeout);
    if (part == Part::kCut) co_return part;
    const size_t taken = bytes.size();
    if (!filter->empty()) bytes = part == Part::kEnd ? filter->End() : filter->Feed(bytes);
    if (on_found == OnFound::kStop && filter->found()) co_return Part::kCut;
    const bool written = co_await to->Write(bytes);
    if (!written) co_return Part::kCut;
    if (part == Part::kEnd) co_return part;
    from->Credit(taken);
  }
}

}  // namespace

H2Exchange::H2Exchange(Worker* worker, Stream* client, Stream* server, Arrival arrival)
    : worker_(worker),
      arrival_(std::move(arrival)),
      client_(client, h2::Side::kServer),
      server_(server, h2::Side::kClient),
      idle_(*worker->loop()),
      closed_(*worker->loop()) {
  client_.set_on_request([this](StreamPtr stream, h2::Event event) {
    OnRequest(std::move(stream), std::move(event));
  });
}

// ── The connections ─────────────────────────────────────────────────────────────────────────────

asio::awaitable<void> H2Exchange::Run() {
  using asio::experimental::awaitable_operators::operator&&;
  co_await (RunClient() && RunServer() && EndWhenIdle());
  closed_.expires_at(asio::steady_timer::time_point::max());
  while (open_ > 0) co_await Wait(&closed_);
}

asio::awaitable<void> H2Exchange::RunClient() {
  co_await client_.Run();
  idle_.cancel();
  server_deadline_.emplace(&server_.stream()->socket(), kEndTimeout);
  server_.GoAway();
}

// Its client opens another connection for what it asks next.
asio::awaitable<void> H2Exchange::RunServer() {
  co_await server_.Run();
  server_deadline_.reset();
  client_.GoAway();
}

asio::awaitable<void> H2Exchange::EndWhenIdle() {
  for (uint64_t served = 0;; served = served_) {
    idle_.expires_after(seconds(worker_->limits().request_stall));
    boost::system::error_code error;
    co_await idle_.async_wait(asio::redirect_error(asio::use_awaitable, error));
    if (error || (open_ == 0 && served == served_)) break;
  }
  client_.GoAway();
}

// ── Streams ─────────────────────────────────────────────────────────────────────────────────────

void H2Exchange::OnRequest(StreamPtr client, h2::Event event) {
  if (event.kind == h2::Event::Kind::kRejected) {
    return worker_->Report(RecordOf(Unread(event.error)));
  }
  ++served_;
  ++open_;
  asio::co_spawn(*worker_->loop(), Serve(std::move(client), std::move(event)), asio::detached);
}

asio::awaitable<void> H2Exchange::Serve(StreamPtr client, h2::Event event) {
  const auto self = shared_from_this();
  try {
    if (event.kind == h2::Event::Kind::kRequest) {
      co_await Judge(client, event.request);
    } else {
      co_await Refuse(client.get(), Unread(event.error), http::RefusalOf(event.error));
    }
  } catch (const std::exception& e) {
    // Of the libraries, for lack of memory: this stream ends, and no other.
    fprintf(stderr, "<4>odyssey-egress-worker: %s\n", e.what());
    client->Reset(ErrorCode::kInternalError);
  }
  if (--open_ == 0) closed_.cancel();
}

asio::awaitable<void> H2Exchange::Judge(StreamPtr client, const RequestHead& head) {
  const TakeBody take_body = [this, &client, &head](const Passage& passage, uint64_t limit) {
    return TakeBodyOf(client.get(), passage, head, limit);
  };
  std::optional<Judgement> judged = co_await JudgeRequest(worker_, arrival_, head, take_body);
  if (!judged) co_return;
  std::optional<Outgoing> out =
      co_await PrepareRequest(worker_, arrival_, head, *std::move(judged), take_body);
  if (!out) co_return;
  const Passage& passage = out->judged.passage;
  if (out->judged.status != 0) {
    co_return co_await Refuse(client.get(), passage, RefusalOf(passage, out->judged.status, &head));
  }
  co_await Forward(std::move(client), head, &*out);
}

// All of it, or a little more than `limit`.
asio::awaitable<std::optional<std::string>> H2Exchange::TakeBodyOf(H2Stream* client,
                                                                   const Passage& passage,
                                                                   const RequestHead& head,
                                                                   uint64_t limit) {
  if (head.expects_continue) client->Continue();
  const seconds stall(worker_->limits().request_stall);
  std::string body, bytes;
  for (;;) {
    const Part part = co_await client->Read(&bytes, stall);
    if (part == Part::kEnd) co_return body;
    if (part == Part::kCut) break;
    body += bytes;
    client->Credit(bytes.size());
    if (body.size() > limit) co_return body;
  }
  if (!client->closed()) {
    const Passage late = Refused(passage, kRequestTimeout, kStalled);
    SendRefusal(client, late, RefusalOf(late, kLate, &head));
    client->ResetOnceEnded();
    co_return std::nullopt;
  }
  if (!client->malformed().empty()) {
    Report(Refused(passage, "malformed_request", client->malformed()), head, kBadRequest);
  }
  client->Reset(ErrorCode::kCancel);
  co_return std::nullopt;
}

asio::awaitable<void> H2Exchange::Forward(StreamPtr client, const RequestHead& head,
                                          Outgoing* out) {
  using asio::experimental::awaitable_operators::operator&&;
  if (client->closed()) co_return Report(out->judged.passage, head, 0);
  const bool bodiless = head.framing.kind == http::FramingKind::kNone;
  http::Fields fields = h2::RequestFields(out->head);
  if (http::FindField(head.fields, "te") != nullptr) fields.push_back({"te", "trailers"});
  const auto indexing =
      out->credentials.names().empty() ? h2::Indexing::kAllowed : h2::Indexing::kNever;
  const StreamPtr server = server_.Request(fields, bodiless, indexing);
  // The client may ask again, on another connection.
  if (server == nullptr) {
    client_.GoAway();
    co_return client->Reset(ErrorCode::kRefusedStream);
  }
  Join(client, server);
  if (head.expects_continue && !out->judged.body) client->Continue();
  if (bodiless) {
    co_await Answer(client.get(), server.get(), head, out);
  } else {
    co_await (SendBody(client.get(), server.get(), head, out) &&
              Answer(client.get(), server.get(), head, out));
  }
}

// A request's trailers were not judged, and are left out.
asio::awaitable<void> H2Exchange::SendBody(H2Stream* client, H2Stream* server,
                                           const RequestHead& head, Outgoing* out) {
  CredentialUse& use = out->credentials;
  credentials::Replacer guard = use.BodyGuard();
  bool whole = true;
  if (out->judged.body) {
    whole = co_await server->Write(*out->judged.body);
  } else {
    whole = co_await Copy(client, server, &guard, OnFound::kStop) == Part::kEnd;
  }
  if (whole) co_return server->End({});
  const bool refused = guard.found() && use.status() == 0;
  if (refused) server->set_on_closed({});  // Refuse reads what the client still sends
  server->Reset(ErrorCode::kCancel);       // a body that was cut is never ended
  if (!refused) co_return;
  use.RefuseBody();
  const Passage passage = Refused(out->judged.passage, use.refusal().code, use.refusal().reason);
  if (client->responded()) {
    Report(passage, head, use.status());
    co_return client->ResetOnceEnded();
  }
  co_await Refuse(client, passage, RefusalOf(passage, use.status(), &head));
}

// The record is sent before the client has an answer, and may end.
asio::awaitable<void> H2Exchange::Answer(H2Stream* client, H2Stream* server,
                                         const RequestHead& head, Outgoing* out) {
  CredentialUse& use = out->credentials;
  const Passage& passage = out->judged.passage;
  const seconds stall(worker_->limits().response_stall);
  const http::ResponseHead* const received = co_await server->ReadHead(stall);
  if (use.status() != 0) co_return;  // its body was refused, and the server's stream is reset
  if (received == nullptr) {
    Fail(client, *server, head, passage);
    co_return server->Reset(ErrorCode::kCancel);
  }
  http::ResponseHead response = *received;
  if (!use.TakeOut(&response)) {
    const Passage refused = Refused(passage, use.refusal().code, use.refusal().reason);
    SendRefusal(client, refused, RefusalOf(refused, use.status(), &head));
    client->ResetOnceEnded();
    co_return server->Reset(ErrorCode::kCancel);
  }
  Report(passage, head, response.status);
  const std::string text = http::WriteResponseHead(response, response.framing, false);
  client->Respond(h2::ResponseFields(text), server->is_only_head());
  credentials::Replacer redactor = use.Redactor();
  const Part ended = co_await Copy(server, client, &redactor, OnFound::kGoOn);
  if (ended == Part::kEnd) {
    http::Fields trailers = server->trailers();
    use.TakeOut(&trailers);
    co_return client->End(std::move(trailers));
  }
  client->Reset(CodeFor(*server));
  server->Reset(ErrorCode::kCancel);
}

void H2Exchange::Fail(H2Stream* client, const H2Stream& server, const RequestHead& head,
                      const Passage& passage) {
  if (!client->malformed().empty()) {
    Report(Refused(passage, "malformed_request", client->malformed()), head, kBadRequest);
  } else if (client->closed()) {
    Report(passage, head, 0);
  } else if (server.closed() && !server.lost() && server.malformed().empty()) {
    Report(Refused(passage, kUnreachable, "the server reset the request"), head, kBadGateway);
    client->Reset(CodeFor(server));
  } else {
    const Passage failed =
        Refused(passage, kUnreachable, "the server ended, or what it sent is no response");
    SendRefusal(client, failed, RefusalOf(failed, kBadGateway, &head));
    client->ResetOnceEnded();
  }
}

// Clients that are still sending take a reset for a failure, though it comes behind an answer: a
// body that is not long is read to its end.
asio::awaitable<void> H2Exchange::Refuse(H2Stream* client, Passage passage, http::Refusal refusal) {
  SendRefusal(client, passage, refusal);
  std::string bytes;
  for (size_t rest = 0; rest < kMaxUnread; rest += bytes.size()) {
    const Part part = co_await client->Read(&bytes, kEndTimeout);
    if (part != Part::kBytes) break;
    client->Credit(bytes.size());
  }
  client->ResetOnceEnded();
}

void H2Exchange::SendRefusal(H2Stream* client, const Passage& passage,
                             const http::Refusal& refusal) {
  RequestHead head;
  head.method = refusal.method;
  head.path = refusal.path;
  Report(passage, head, refusal.status);
  const std::string text = http::RefusalResponse(refusal);
  const size_t size = text.find("\r\n\r\n") + 4;
  client->Respond(h2::ResponseFields(std::string_view(text).substr(0, size)), size == text.size());
  client->Send(std::string_view(text).substr(size));
  client->End({});
}

void H2Exchange::Report(const Passage& passage, const RequestHead& head, int status) {
  egress_wire::Record record = RecordOf(passage);
  record.method = head.method;
  record.path = head.path;
  record.status = static_cast<uint16_t>(status);
  worker_->Report(std::move(record));
}

Passage H2Exchange::Unread(const http::ParseError& error) const {
  Passage passage{.way = arrival_.way};
  passage.to.host = arrival_.server->host;
  passage.to.port = arrival_.server->port;
  passage.to.program = arrival_.program;
  return Refused(std::move(passage), http::RefusalOf(error).error, error.reason);
}

}  // namespace odyssey::egress
