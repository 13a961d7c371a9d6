#include "supervisor/egress/worker/websocket.h"

#include <openssl/rand.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "policy/egress/rest.h"
#include "supervisor/egress/websocket/frame_reader.h"
#include "supervisor/egress/websocket/frame_writer.h"
#include "supervisor/egress/worker/relay.h"

namespace odyssey::egress {
namespace {

using asio::experimental::awaitable_operators::operator&&;
using Clock = std::chrono::steady_clock;
using websocket::CloseCode;
using websocket::Mask;
using websocket::Opcode;
using websocket::Part;
using websocket::Sender;

constexpr auto kIdleTimeout = std::chrono::minutes(15);   // without a byte of either end
constexpr auto kCloseTimeout = std::chrono::seconds(10);  // from the first close to the end
constexpr uint64_t kMaxMessageBytes = uint64_t{64} << 20;
constexpr size_t kMaxTextBytes = 1 << 20;  // of a message that is decided
constexpr size_t kMaxDrainedBytes = 64 * 1024;

Mask NewMask() {
  Mask mask = {};
  ODY_CHECK(RAND_bytes(mask.data(), static_cast<int>(mask.size())) == 1);
  return mask;
}

constexpr std::string_view kPolicyDenied = "policy_denied";

bool IsOfProtocol(const Decision& decision, Protocol protocol) {
  return decision.inspected && !decision.pairs.empty() &&
         decision.pairs[0].endpoint->protocol == protocol;
}

bool DecidesText(const Decision& decision) { return IsOfProtocol(decision, Protocol::kWebSocket); }

class WebSocket final {
 public:
  WebSocket(Worker* worker, Passage passage, Request upgrade, CredentialUse* credentials,
            WebSocketEnd client, WebSocketEnd server)
      : worker_(worker),
        passage_(std::move(passage)),
        upgrade_(std::move(upgrade)),
        credentials_(credentials),
        decides_text_(DecidesText(passage_.decision)),
        collects_text_(decides_text_ || !worker->keyring()->empty()),
        client_(worker->loop(), std::move(client), Sender::kClient),
        server_(worker->loop(), std::move(server), Sender::kServer),
        wake_(*worker->loop()) {}

  asio::awaitable<void> Run();

 private:
  // `closed`: it was sent a close, and gets nothing more.
  struct End {
    End(asio::io_context* loop, WebSocketEnd end, Sender as)
        : stream(end.stream),
          buffered(std::move(end.buffered)),
          reader(as, kMaxMessageBytes),
          writer(as == Sender::kClient ? Sender::kServer : Sender::kClient),
          written(*loop, asio::steady_timer::time_point::max()) {}
    Stream* const stream;
    std::string buffered;
    websocket::FrameReader reader;  // of what it sends
    websocket::FrameWriter writer;  // of what it is sent
    bool closed = false;
    bool writing = false;
    asio::steady_timer written;  // cancelled when a write ends
  };

  asio::awaitable<void> Pump(End* from, End* to);
  asio::awaitable<bool> TakeParts(End* from, End* to);
  asio::awaitable<bool> Send(End* to, std::string frames, bool closes);
  asio::awaitable<void> Watch();

  // What both ends are closed with.
  struct Wrong {
    CloseCode code = CloseCode::kPolicy;
    std::string_view reason = kPolicyDenied;
  };
  Wrong Malformed(const End& from, const Part& part);
  // Of a text of the client that is decided all pieces but the last one become empty.
  std::optional<Wrong> JudgePart(Part* part);
  std::optional<Wrong> JudgeText(const std::string& text);
  std::optional<Wrong> PutSecretsIn(std::string* text);
  void TakeSecretsOut(Part* part);
  bool DecideAnew();
  void Report(const Passage& passage, egress_wire::Verdict verdict, std::string method);

  asio::awaitable<void> CloseBoth(Wrong wrong);
  asio::awaitable<void> SendClose(End* to, Wrong wrong);
  asio::awaitable<void> Finish(End* end);
  void StartClosing();
  void Reset();

  std::string Frame(End* to, const Part& part) {
    std::string out;
    to->writer.Write(part, to == &server_ ? NewMask() : Mask{}, &out);
    return out;
  }

  Worker* const worker_;
  Passage passage_;
  const Request upgrade_;
  CredentialUse* const credentials_;
  const bool decides_text_;
  const bool collects_text_;  // of the client, to look at all of it
  End client_, server_;
  std::string text_;                               // of the client, until it is whole
  std::optional<credentials::Replacer> redactor_;  // of the server's message that is not whole
  int ended_ = 0;                                  // directions
  bool refused_ = false;
  Clock::time_point last_use_ = Clock::now();
  asio::steady_timer wake_;  // of Watch; cancelled when there is something to look at
  struct Closing {
    explicit Closing(WebSocket* of)
        : client(&of->client_.stream->socket(), kCloseTimeout),
          server(&of->server_.stream->socket(), kCloseTimeout) {}
    Deadline client, server;
  };
  std::optional<Closing> closing_;
};

asio::awaitable<void> WebSocket::Run() {
  const auto held = worker_->Hold([this] { return DecideAnew(); },
                                  [this] {
                                    refused_ = true;
                                    if (closing_) Reset();
                                    wake_.cancel();
                                  });
  co_await (Pump(&client_, &server_) && Pump(&server_, &client_) && Watch());
  StartClosing();
  co_await (Finish(&client_) && Finish(&server_));
}

// Ends what lasts too long, and what a new policy refuses.
asio::awaitable<void> WebSocket::Watch() {
  while (ended_ < 2) {
    if (!closing_ && refused_) {
      co_await CloseBoth(Wrong());
    } else if (!closing_ && Clock::now() >= last_use_ + kIdleTimeout) {
      co_await CloseBoth({CloseCode::kGoingAway, "idle"});
    } else {
      wake_.expires_at(closing_ ? Clock::time_point::max() : last_use_ + kIdleTimeout);
      boost::system::error_code ignored;
      co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
  }
}

// ── one direction ──

asio::awaitable<void> WebSocket::Pump(End* from, End* to) {
  while (co_await TakeParts(from, to)) {
    const Result<bool> more = co_await from->stream->Read(&from->buffered);
    last_use_ = Clock::now();
    if (more.ok() && *more) continue;
    if (!from->closed) Reset();
    break;
  }
  ++ended_;
  wake_.cancel();
}

// All that is buffered. false: the direction has ended.
asio::awaitable<bool> WebSocket::TakeParts(End* from, End* to) {
  std::string frames;
  std::string_view rest = from->buffered;
  std::optional<Wrong> wrong;
  bool ended = false;
  while (!ended && !wrong) {
    Part part = from->reader.Read(rest);
    rest.remove_prefix(part.taken);
    if (part.kind == Part::Kind::kMore) break;
    const bool failed = part.kind == Part::Kind::kError;
    ended = failed || part.opcode == Opcode::kClose;
    if (to->closed || refused_) continue;
    if (failed) {
      wrong = Malformed(*from, part);
    } else if (from == &client_) {
      wrong = JudgePart(&part);
    } else {
      TakeSecretsOut(&part);
    }
    if (!wrong) frames += Frame(to, part);
  }
  from->buffered.erase(0, from->buffered.size() - rest.size());
  if (!frames.empty()) {
    const bool sent = co_await Send(to, std::move(frames), ended && !wrong);
    if (!sent) co_return false;
  }
  if (ended) StartClosing();
  if (!wrong) co_return !ended;
  co_await CloseBoth(*wrong);
  if (ended) co_return false;
  co_return co_await TakeParts(from, to);  // what is left of it, for a close
}

// One writer at a time. `closes`: a close is the last of the frames. false: the end failed.
asio::awaitable<bool> WebSocket::Send(End* to, std::string frames, bool closes) {
  boost::system::error_code ignored;
  while (to->writing) {
    co_await to->written.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  if (to->closed) co_return true;
  to->closed = closes;
  to->writing = true;
  const Status status = co_await to->stream->Write(frames);
  to->writing = false;
  to->written.cancel();
  if (!status.ok()) Reset();
  co_return status.ok();
}

// ── what is decided ──

WebSocket::Wrong WebSocket::Malformed(const End& from, const Part& part) {
  const std::string sender = &from == &client_ ? "the client sent " : "the server sent ";
  Report(Refused(passage_, "malformed_message", sender + std::string(part.error)),
         egress_wire::Verdict::kDenied, upgrade_.method);
  return {part.code, part.error};
}

std::optional<WebSocket::Wrong> WebSocket::JudgePart(Part* part) {
  if (!collects_text_ || part->kind != Part::Kind::kData || part->opcode != Opcode::kText)
    return {};
  text_ += std::exchange(part->payload, {});
  if (text_.size() > kMaxTextBytes) {
    return Malformed(client_, {.code = CloseCode::kTooBig, .error = "a text that is too long"});
  }
  if (!part->last) return {};
  part->payload = std::exchange(text_, {});
  std::optional<Wrong> wrong;
  if (decides_text_) wrong = JudgeText(part->payload);
  return wrong ? wrong : PutSecretsIn(&part->payload);
}

std::optional<WebSocket::Wrong> WebSocket::PutSecretsIn(std::string* text) {
  if (credentials_->PutInMessage(text)) return {};
  const credentials::Refusal& why = credentials_->refusal();
  Report(Refused(passage_, why.code, why.reason), egress_wire::Verdict::kDenied, kWebSocketText);
  return Wrong{CloseCode::kPolicy, kPolicyDenied};
}

// Of the server. The pieces of a message keep their number.
void WebSocket::TakeSecretsOut(Part* part) {
  if (part->kind != Part::Kind::kData) return;
  if (!redactor_) redactor_ = credentials_->Redactor();
  part->payload = redactor_->Feed(part->payload);
  if (part->last) part->payload += std::exchange(redactor_, std::nullopt)->End();
}

std::optional<WebSocket::Wrong> WebSocket::JudgeText(const std::string& text) {
  Passage passage = passage_;
  passage.decision = DecideMessage(passage_.to, passage_.decision.pairs, upgrade_, text);
  const Refusal refusal = passage.decision.refusal;
  passage.code = CodeOf(refusal);
  passage.reason = passage.decision.reason;
  if (passage.decision.allowed) {
    if (passage.decision.audited) Report(passage, egress_wire::Verdict::kAudited, kWebSocketText);
    return {};
  }
  Report(passage, egress_wire::Verdict::kDenied, kWebSocketText);
  return Wrong{refusal == Refusal::kBodyTooLarge ? CloseCode::kTooBig : CloseCode::kPolicy,
               CodeOf(refusal)};
}

// By the policy of now: messages to come are decided by it too.
bool WebSocket::DecideAnew() {
  Passage now = passage_;
  Decide(worker_, &now);
  if (now.decision.allowed) now.decision = DecideRequest(now.to, now.decision.pairs, upgrade_);
  now.code = CodeOf(now.decision.refusal);
  now.reason = now.decision.reason;
  const bool same = MayOpenWebSocket(now.decision) && DecidesText(now.decision) == decides_text_;
  if (now.decision.allowed && !same) {
    now =
        Refused(std::move(now), std::string(kPolicyDenied), "the new policy has another protocol");
  }
  if (now.decision.allowed) {
    passage_ = std::move(now);
    return true;
  }
  if (!refused_) Report(now, egress_wire::Verdict::kDenied, upgrade_.method);
  return false;
}

void WebSocket::Report(const Passage& passage, egress_wire::Verdict verdict, std::string method) {
  egress_wire::Record record = RecordOf(passage);
  record.verdict = verdict;
  record.method = std::move(method);
  record.path = upgrade_.path;
  worker_->Report(std::move(record));
}

// ── the end ──

asio::awaitable<void> WebSocket::CloseBoth(Wrong wrong) {
  StartClosing();
  co_await (SendClose(&client_, wrong) && SendClose(&server_, wrong));
}

asio::awaitable<void> WebSocket::SendClose(End* to, Wrong wrong) {
  const Part part{.kind = Part::Kind::kControl,
                  .opcode = Opcode::kClose,
                  .payload = websocket::ClosePayload(wrong.code, wrong.reason)};
  (void)co_await Send(to, Frame(to, part), true);
}

// Closing with bytes unread would reset the connection, and the close with it.
asio::awaitable<void> WebSocket::Finish(End* end) {
  co_await end->stream->Finish();
  std::string rest;
  for (Result<bool> more = true; more.ok() && *more && rest.size() < kMaxDrainedBytes;) {
    more = co_await end->stream->Read(&rest);
  }
}

void WebSocket::StartClosing() {
  if (!closing_) closing_.emplace(this);
  wake_.cancel();
}

// An end that went without a close: the other one must not take it for one.
void WebSocket::Reset() {
  for (const End* end : {&client_, &server_}) odyssey::egress::Reset(&end->stream->socket());
}

}  // namespace

bool MayOpenWebSocket(const Decision& decision) {
  return DecidesText(decision) || IsOfProtocol(decision, Protocol::kRest);
}

asio::awaitable<void> ServeWebSocket(Worker* worker, Passage passage, Request upgrade,
                                     CredentialUse* credentials, WebSocketEnd client,
                                     WebSocketEnd server) {
  WebSocket websocket(worker, std::move(passage), std::move(upgrade), credentials,
                      std::move(client), std::move(server));
  co_await websocket.Run();
}

}  // namespace odyssey::egress
