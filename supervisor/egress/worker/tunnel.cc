#include "supervisor/egress/worker/tunnel.h"

#include <algorithm>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "policy/egress/pattern.h"
#include "supervisor/egress/inference/decide.h"
#include "supervisor/egress/protocol/client_hello.h"
#include "supervisor/egress/protocol/h2_preface.h"
#include "supervisor/egress/worker/relay.h"

namespace odyssey::egress {
namespace {

using protocol::ClientHelloState;
using protocol::ReceivedClientHello;

constexpr uint16_t kTlsPort = 443;
constexpr size_t kFirstBytes = 4096;  // of one read

struct Judged {
  bool more = false;
  std::string code, reason;  // of a refusal
  std::string_view alert;
};

bool LeavesTlsAlone(const Decision& decision) {
  return std::any_of(decision.pairs.begin(), decision.pairs.end(), [](const Pair& pair) {
    return pair.endpoint->tls == Tls::kSkip || pair.endpoint->protocol == Protocol::kTcp;
  });
}

// What a tunnel's first bytes say of where it leads.
Judged Judge(const Passage& passage, const std::string& bytes) {
  if (LeavesTlsAlone(passage.decision)) return {};
  const ReceivedClientHello received = protocol::ReadClientHello(bytes);
  switch (received.state) {
    case ClientHelloState::kMore:
      return {.more = true};
    case ClientHelloState::kNotTls: {
      HelloRefusal refusal = JudgeNoHello(passage);
      return {.code = std::move(refusal.code), .reason = std::move(refusal.reason)};
    }
    case ClientHelloState::kBad:
    case ClientHelloState::kHello:
      break;
  }
  HelloRefusal refusal = JudgeHello(passage, received);
  const bool named = received.state == ClientHelloState::kHello && !refusal.code.empty();
  return {.code = std::move(refusal.code),
          .reason = std::move(refusal.reason),
          .alert = named ? kUnrecognizedName : std::string_view()};
}

// The client's direction: its first bytes, then the rest.
asio::awaitable<void> FromClient(Worker* worker, const Passage* passage,
                                 std::shared_ptr<Relay> relay, std::string first) {
  boost::system::error_code error;
  Judged judged = Judge(*passage, first);
  std::optional<Deadline> deadline;  // once it has begun
  while (judged.more) {
    if (!deadline && !first.empty()) {
      deadline.emplace(&relay->client(), std::chrono::seconds(worker->limits().handshake));
    }
    const size_t before = first.size();
    first.resize(before + kFirstBytes);
    const size_t n =
        co_await relay->client().async_read_some(asio::buffer(first.data() + before, kFirstBytes),
                                                 asio::redirect_error(asio::use_awaitable, error));
    first.resize(before + n);
    if (error) break;
    judged = Judge(*passage, first);
  }
  deadline.reset();
  if (!judged.code.empty()) {
    worker->Report(RecordOf(Refused(*passage, judged.code, judged.reason)));
    if (!judged.alert.empty()) {
      co_await asio::async_write(relay->client(), asio::buffer(judged.alert),
                                 asio::redirect_error(asio::use_awaitable, error));
      relay->client().shutdown(Tcp::socket::shutdown_both, error);
      relay->client().close(error);
    }
    relay->Reset();
    co_return;
  }
  // A client that ended within what could have become TLS: nothing of it was sent.
  if (!first.empty() && !judged.more) {
    if (!relay->CountFirst(first.size())) co_return;
    co_await asio::async_write(relay->upstream(), asio::buffer(first),
                               asio::redirect_error(asio::use_awaitable, error));
    if (error) relay->Reset();
  }
  if (judged.more) {
    relay->Reset();
    co_return;
  }
  co_await relay->ToUpstream();
}

}  // namespace

void Decide(Worker* worker, Passage* passage) {
  passage->policy = worker->policy();
  passage->decision =
      inference::Inspect(DecideConnection(passage->policy->policy, passage->to), passage->to);
  passage->code = CodeOf(passage->decision.refusal);
  passage->reason = passage->decision.reason;
}

Passage Refused(Passage passage, std::string code, std::string reason) {
  passage.decision.allowed = false;
  passage.decision.rule_missing.clear();
  passage.code = std::move(code);
  passage.reason = std::move(reason);
  return passage;
}

Passage Refused(Passage passage, const Dialled& dialled) {
  passage.retry_after = dialled.retry_after;
  return Refused(std::move(passage), dialled.code.empty() ? kUnreachable : dialled.code,
                 dialled.status.message());
}

Passage Refused(Passage passage, const Excess& excess) {
  passage.retry_after = excess.retry_after;
  return Refused(std::move(passage), excess.code, excess.reason);
}

int HttpStatusOf(const Passage& refused) {
  if (refused.code == kBudgetExceeded) return 429;
  if (refused.code == kOverloaded) return 503;
  return refused.code == kUnreachable ? 502 : 403;
}

HelloRefusal JudgeHello(const Passage& passage, const ReceivedClientHello& received) {
  if (received.state != ClientHelloState::kHello) {
    return {"malformed_tls", "the client's first message of TLS is malformed"};
  }
  const std::string& name = received.hello.sni;
  const std::string& host = passage.to.host;
  if (name == host || (name.empty() && IsAddress(host))) return {};
  const std::string said = name.empty() ? "names no host" : "names " + name;
  return {"sni_mismatch", "the client's TLS " + said + ", and " + host + " was asked for"};
}

HelloRefusal JudgeNoHello(const Passage& passage) {
  if (passage.to.port != kTlsPort) return {};
  return {"not_tls",
          "port 443 has TLS, and the client sent something else; a rule with `tls: skip` or "
          "`protocol: tcp` lets it through"};
}

std::string KeyOf(const Decision& decision) {
  return decision.pairs.empty() ? "" : decision.pairs[0].endpoint->key;
}

egress_wire::Record RecordOf(const Passage& passage) {
  egress_wire::Record record;
  const Decision& decision = passage.decision;
  record.verdict =
      decision.allowed ? egress_wire::Verdict::kAllowed : egress_wire::Verdict::kDenied;
  record.way = passage.way;
  record.host = passage.to.host;
  record.port = passage.to.port;
  record.program = passage.to.program.path;
  record.rule = KeyOf(decision);
  record.code = passage.code;
  record.reason = passage.reason;
  record.grant = decision.rule_missing;
  record.inference = passage.inference;
  record.credential = passage.credential;
  return record;
}

asio::awaitable<void> ServeTunnel(Worker* worker, Passage passage, Tcp::socket client,
                                  Dialled upstream, std::string first) {
  using asio::experimental::awaitable_operators::operator&&;
  boost::system::error_code error;
  Tcp::socket dialled(*worker->loop());
  dialled.assign(Tcp::v6(), upstream.socket.release(), error);
  client.native_non_blocking(true, error);
  dialled.native_non_blocking(true, error);
  const auto relay =
      std::make_shared<Relay>(std::move(client), std::move(dialled), std::move(upstream.account),
                              std::chrono::seconds(worker->limits().tunnel_idle));
  const auto held = worker->Hold(passage.to, [relay] { relay->Reset(); });
  co_await (FromClient(worker, &passage, relay, std::move(first)) && relay->ToClient());
  if (relay->excess()) worker->Report(RecordOf(Refused(std::move(passage), *relay->excess())));
}

}  // namespace odyssey::egress
