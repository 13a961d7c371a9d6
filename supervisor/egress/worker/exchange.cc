#include "supervisor/egress/worker/exchange.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "supervisor/egress/http/body.h"
#include "supervisor/egress/http/forward.h"
#include "supervisor/egress/inference/decide.h"
#include "supervisor/egress/websocket/handshake.h"
#include "supervisor/egress/worker/inference_exchange.h"
#include "supervisor/egress/worker/relay.h"
#include "supervisor/egress/worker/server_tls.h"
#include "supervisor/egress/worker/websocket.h"

namespace odyssey::egress {
namespace {

using http::RequestHead;
using http::ResponseHead;

using std::chrono::seconds;

constexpr int kSwitchingProtocols = 101, kBadRequest = 400, kLate = 408, kBadGateway = 502;
constexpr char kContinue[] = "HTTP/1.1 100 Continue\r\n\r\n";

// With what the filter holds back.
bool End(http::BodyWriter* writer, credentials::Replacer* filter, std::string* out) {
  const std::string rest = filter->End();
  return (rest.empty() || writer->Write(rest, out)) && writer->End(out);
}

// What waits for it fails, and an answer can still be sent.
void Cancel(Stream* stream) {
  boost::system::error_code ignored;
  stream->socket().cancel(ignored);
}

}  // namespace

Exchange::Exchange(Worker* worker, Stream* client, Arrival arrival)
    : worker_(worker), client_(client), arrival_(std::move(arrival)) {}

void Exchange::Adopt(std::unique_ptr<Stream> upstream) {
  upstream_ = std::move(upstream);
  upstream_to_ = {.host = arrival_.server->host, .port = arrival_.server->port, .program = {}};
}

asio::awaitable<std::optional<RequestHead>> Exchange::Run(std::string first) {
  buffer_ = std::move(first);
  for (;;) {
    std::optional<RequestHead> head = co_await ReadHead();
    if (!head) co_return std::nullopt;
    if (head->form == http::TargetForm::kAuthority) co_return head;
    if (!co_await Serve(*head)) co_return std::nullopt;
  }
}

// What is no head is answered; a client that ends or is late is not.
asio::awaitable<std::optional<RequestHead>> Exchange::ReadHead() {
  const std::optional<Server>& server = arrival_.server;
  const auto role = server ? http::Role::kOrigin : http::Role::kProxy;
  http::HeadScanner scanner(http::ObsText::kRefuse);
  std::optional<Deadline> deadline;
  const seconds time(worker_->limits().head);
  deadline.emplace(&client_->socket(),
                   buffer_.empty() ? seconds(worker_->limits().request_stall) : time);
  for (;;) {
    auto parsed = http::ParseRequestHead(buffer_, role, &scanner);
    if (auto* head = std::get_if<RequestHead>(&parsed)) {
      buffer_.erase(0, head->size);
      co_return std::move(*head);
    }
    if (const auto* error = std::get_if<http::ParseError>(&parsed)) {
      http::Refusal refusal = http::RefusalOf(*error);
      Passage passage = Refused({.way = arrival_.way}, refusal.error, error->reason);
      passage.to.program = arrival_.program;
      if (server) passage.to.host = server->host;
      if (server) passage.to.port = server->port;
      co_await Refuse(passage, std::move(refusal));
      co_return std::nullopt;
    }
    const bool began = !buffer_.empty();
    const Result<bool> more = co_await client_->Read(&buffer_);
    if (!more.ok() || !*more) co_return std::nullopt;
    if (!began) deadline.emplace(&client_->socket(), time);
  }
}

void Exchange::Report(const Passage& passage, const http::Refusal& refusal) {
  egress_wire::Record record = RecordOf(passage);
  record.verdict = egress_wire::Verdict::kDenied;
  record.method = refusal.method;
  record.path = refusal.path;
  record.status = static_cast<uint16_t>(refusal.status);
  worker_->Report(std::move(record));
}

asio::awaitable<void> Exchange::Refuse(const Passage& passage, http::Refusal refusal) {
  Report(passage, refusal);
  const Deadline deadline(&client_->socket(), seconds(worker_->limits().head));
  (void)co_await client_->Write(http::RefusalResponse(refusal));
  co_await client_->Finish();
  // Closing with bytes unread would reset the connection, and the answer with it.
  std::string rest;
  for (Result<bool> more = true; more.ok() && *more && rest.size() < 65536;) {
    more = co_await client_->Read(&rest);
  }
}

asio::awaitable<bool> Exchange::Serve(const RequestHead& head) {
  const TakeBody take_body = [this, &head](const Passage& passage, uint64_t limit) {
    return TakeBodyOf(passage, head, limit);
  };
  std::optional<Judgement> judged = co_await JudgeRequest(worker_, arrival_, head, take_body);
  if (!judged) co_return false;
  if (judged->status == 0 && judged->passage.to.host == inference::kHost) {
    const auto refuse = [this](const Passage& refused, http::Refusal refusal) {
      return Refuse(refused, std::move(refusal));
    };
    InferenceCall call{.head = head, .judged = *judged, .take_body = take_body, .refuse = refuse};
    co_return co_await ServeInference(worker_, client_, std::move(call));
  }
  std::optional<Outgoing> out =
      co_await PrepareRequest(worker_, arrival_, head, *std::move(judged), take_body);
  if (!out) co_return false;
  const Passage& passage = out->judged.passage;
  if (out->judged.status != 0) {
    co_await Refuse(passage, RefusalOf(passage, out->judged.status, &head));
    co_return false;
  }
  if (!co_await Reach(passage)) co_return false;
  const bool again = co_await Forward(head, &*out);
  if (!again || !switched_) co_return again;
  WebSocketEnd client{client_, std::move(buffer_)};
  WebSocketEnd server{upstream_.get(), std::move(upstream_buffer_)};
  co_await ServeWebSocket(worker_, passage, std::move(out->judged.request), &out->credentials,
                          std::move(client), std::move(server));
  upstream_.reset();
  co_return false;
}

// Connects to the server, unless the request before was for the same.
asio::awaitable<bool> Exchange::Reach(const Passage& passage) {
  const bool same = upstream_ != nullptr && upstream_to_.host == passage.to.host &&
                    upstream_to_.port == passage.to.port && upstream_->socket().is_open();
  if (same) co_return true;
  upstream_.reset();
  upstream_buffer_.clear();
  Dialled dialled = co_await worker_->Dial(passage.to);
  if (!dialled.status.ok()) {
    const Passage failed = Refused(passage, dialled);
    co_await Refuse(failed, RefusalOf(failed, HttpStatusOf(failed), nullptr));
    co_return false;
  }
  upstream_to_ = passage.to;
  const bool tls = arrival_.server && arrival_.server->tls;
  const std::string tls_host = tls ? arrival_.server->host : "";
  auto opened = co_await OpenStream(worker_, std::move(dialled), tls_host);
  if (!opened.ok()) {
    const Passage failed = Refused(passage, kUnreachable, opened.status().message());
    co_await Refuse(failed, RefusalOf(failed, HttpStatusOf(failed), nullptr));
    co_return false;
  }
  upstream_ = *std::move(opened);
  co_return true;
}

// All of it, or a little more than `limit`.
asio::awaitable<std::optional<std::string>> Exchange::TakeBodyOf(const Passage& passage,
                                                                 const RequestHead& head,
                                                                 uint64_t limit) {
  std::string body;
  http::BodyReader reader(head.framing);
  if (head.expects_continue) (void)co_await client_->Write(kContinue);
  IdleLimit idle(client_->socket().get_executor(), [this] { Cancel(client_); });
  for (;;) {
    const http::BodyReader::Step step = reader.Read(buffer_);
    body += step.payload;
    buffer_.erase(0, step.taken);
    if (step.state == http::BodyReader::State::kEnd || body.size() > limit) co_return body;
    if (step.state == http::BodyReader::State::kPayload) continue;
    if (step.state == http::BodyReader::State::kError) {
      const Passage refused = Refused(passage, "malformed_request", std::string(step.error));
      co_await Refuse(refused, RefusalOf(refused, 400, &head));
      co_return std::nullopt;
    }
    idle.Expect(seconds(worker_->limits().request_stall));
    const Result<bool> more = co_await client_->Read(&buffer_);
    if (more.ok() && *more) continue;
    const Passage late = Refused(passage, kRequestTimeout, kStalled);
    if (idle.passed()) co_await Refuse(late, RefusalOf(late, kLate, &head));
    co_return std::nullopt;
  }
}

asio::awaitable<bool> Exchange::Forward(const RequestHead& head, Outgoing* out) {
  using asio::experimental::awaitable_operators::operator&&;
  const Passage& passage = out->judged.passage;
  int status = 0;
  bool keep = false;
  if ((co_await upstream_->Write(out->head)).ok()) {
    if (head.expects_continue && !out->judged.body) (void)co_await client_->Write(kContinue);
    const auto [sent, answered] = co_await (SendBody(head, out) && Answer(head, out, &status));
    keep = sent && answered && !head.close;
  }
  if (const CredentialUse& use = out->credentials; use.status() != 0) {
    const Passage failed = Refused(passage, use.refusal().code, use.refusal().reason);
    const http::Refusal refusal = RefusalOf(failed, use.status(), &head);
    if (status == 0) {
      co_await Refuse(failed, refusal);
    } else {
      Report(failed, refusal);
    }
    co_return false;
  }
  const std::optional<Excess> excess = upstream_->excess();
  if (status == 0) {
    const auto [failed, answer] = FailureOf(passage);
    co_await Refuse(failed, RefusalOf(failed, answer, &head));
    co_return false;
  }
  if (excess) worker_->Report(RecordOf(Refused(passage, *excess)));
  if (!keep) upstream_.reset();
  co_return keep;
}

// Why there was no response, and what the client is told.
std::pair<Passage, int> Exchange::FailureOf(const Passage& passage) const {
  if (stalled_) return {Refused(passage, kRequestTimeout, kStalled), kLate};
  if (broken_) {
    return {Refused(passage, "malformed_request", "the request's body is none, or was cut"),
            kBadRequest};
  }
  const auto excess = upstream_->excess();
  Passage failed =
      excess ? Refused(passage, *excess)
             : Refused(passage, kUnreachable, "the server ended, or what it sent is no response");
  const int status = HttpStatusOf(failed);
  return {std::move(failed), status};
}

asio::awaitable<bool> Exchange::SendBody(const RequestHead& head, Outgoing* out) {
  if (out->judged.body) co_return (co_await upstream_->Write(*out->judged.body)).ok();
  credentials::Replacer guard = out->credentials.BodyGuard();
  const Copied copied = co_await CopyBody(client_, &buffer_, head.framing, upstream_.get(),
                                          head.framing, &guard, OnFound::kStop, std::string());
  if (copied == Copied::kRefused) out->credentials.RefuseBody();
  if (copied == Copied::kBroken) broken_ = true;
  if (broken_ || copied == Copied::kRefused || upstream_->excess()) {
    // Else the server would wait for the rest, and the client for the server.
    Reset(&upstream_->socket());
  }
  co_return copied == Copied::kWhole;
}

// The record is sent before the client has an answer, and may end.
asio::awaitable<bool> Exchange::Answer(const RequestHead& head, Outgoing* out, int* status) {
  http::Asked asked{.method = head.method, .websocket = head.upgrade == http::Upgrade::kWebSocket};
  http::HeadScanner scanner(http::ObsText::kAllow);
  const seconds stall(worker_->limits().response_stall);
  answer_limit_.emplace(upstream_->socket().get_executor(), [this] { Cancel(upstream_.get()); });
  answer_limit_->Expect(stall);
  ResponseHead response;
  for (;;) {
    auto parsed = http::ParseResponseHead(upstream_buffer_, asked, &scanner);
    if (std::holds_alternative<http::ParseError>(parsed)) co_return false;
    if (auto* found = std::get_if<ResponseHead>(&parsed)) {
      response = std::move(*found);
      upstream_buffer_.erase(0, response.size);
      if (response.status >= 200 || response.status == kSwitchingProtocols) break;
      ++asked.informational;  // the client was sent what it waits for
      scanner = http::HeadScanner(http::ObsText::kAllow);
      continue;
    }
    const Result<bool> more = co_await upstream_->Read(&upstream_buffer_);
    if (!more.ok() || !*more) co_return false;
  }
  answer_limit_.reset();
  if (!out->credentials.TakeOut(&response)) co_return false;
  switched_ = response.status == kSwitchingProtocols;
  if (switched_ && !websocket::CheckAnswer(head.fields, response.fields).empty()) co_return false;
  *status = response.status;
  egress_wire::Record record = RecordOf(out->judged.passage);
  record.method = head.method;
  record.path = head.path;
  record.status = static_cast<uint16_t>(response.status);
  worker_->Report(std::move(record));
  const http::Framing framing = http::FramingForClient(response, head.version);
  const bool close = head.close || framing.kind == http::FramingKind::kUntilClose;
  credentials::Replacer redactor = out->credentials.Redactor();
  std::string written = http::WriteResponseHead(response, framing, close);
  const Copied copied =
      co_await CopyBody(upstream_.get(), &upstream_buffer_, response.framing, client_, framing,
                        &redactor, OnFound::kGoOn, std::move(written));
  const bool whole = copied == Copied::kWhole;
  // A body that was cut must not look whole.
  if (!whole) Reset(&client_->socket());
  co_return whole && !close && !response.close;
}

asio::awaitable<Exchange::Copied> Exchange::CopyBody(Stream* from, std::string* buffered,
                                                     http::Framing framing, Stream* to,
                                                     http::Framing framed,
                                                     credentials::Replacer* filter,
                                                     OnFound on_found, std::string head) {
  http::BodyReader reader(framing);
  http::BodyWriter writer(framed);
  const Limits& limits = worker_->limits();
  const seconds stall(from == client_ ? limits.request_stall : limits.response_stall);
  IdleLimit idle(from->socket().get_executor(), [from, to] {
    Cancel(from);
    Cancel(to);
  });
  for (;;) {
    std::string out = std::exchange(head, "");
    size_t taken = 0;
    http::BodyReader::Step step;
    do {
      step = reader.Read(std::string_view(*buffered).substr(taken));
      taken += step.taken;
      const std::string filtered = filter->empty() ? "" : filter->Feed(step.payload);
      const std::string_view payload = filter->empty() ? step.payload : filtered;
      if (on_found == OnFound::kStop && filter->found()) co_return Copied::kRefused;
      if (!payload.empty() && !writer.Write(payload, &out)) co_return Copied::kBroken;
    } while (step.state == http::BodyReader::State::kPayload);
    buffered->erase(0, taken);
    const bool ended = step.state == http::BodyReader::State::kEnd;
    if (ended && !End(&writer, filter, &out)) co_return Copied::kBroken;
    idle.Expect(seconds(limits.response_stall));
    if (!out.empty() && !(co_await to->Write(out)).ok()) co_return Copied::kNotTaken;
    if (ended) co_return Copied::kWhole;
    if (step.state == http::BodyReader::State::kError) co_return Copied::kBroken;
    if (from == client_ && answer_limit_) answer_limit_->Expect(seconds(limits.response_stall));
    idle.Expect(stall);
    const Result<bool> more = co_await from->Read(buffered);
    if (from == client_ && idle.passed()) stalled_ = true;
    if (!more.ok()) co_return Copied::kBroken;
    if (!*more) {
      out.clear();
      const bool whole = reader.IsWholeAtClose() && End(&writer, filter, &out);
      if (whole && !out.empty()) (void)co_await to->Write(out);
      co_return whole ? Copied::kWhole : Copied::kBroken;
    }
  }
}

}  // namespace odyssey::egress
