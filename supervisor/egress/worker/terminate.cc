#include "supervisor/egress/worker/terminate.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "supervisor/egress/inference/decide.h"
#include "supervisor/egress/protocol/client_hello.h"
#include "supervisor/egress/protocol/h2_preface.h"
#include "supervisor/egress/worker/exchange.h"
#include "supervisor/egress/worker/h2_exchange.h"
#include "supervisor/egress/worker/server_tls.h"
#include "supervisor/egress/worker/stream.h"
#include "supervisor/egress/worker/tls_contexts.h"

namespace odyssey::egress {
namespace {

using protocol::ClientHelloState;
using protocol::ReceivedClientHello;

// Reads until it is known what the client speaks. false: it ended, or was late.
asio::awaitable<bool> ReadFirst(PlainStream* client, std::chrono::seconds time, std::string* first,
                                ReceivedClientHello* received) {
  const Deadline deadline(&client->socket(), time);
  for (;;) {
    *received = protocol::ReadClientHello(*first);
    if (!first->empty() && received->state != ClientHelloState::kMore) co_return true;
    const Result<bool> more = co_await client->Read(first);
    if (!more.ok() || !*more) co_return false;
  }
}

// What the client offers to speak, if HTTP/2 is among it. inference.local is no server that could
// choose.
std::optional<HttpVersions> VersionsOf(const protocol::ClientHello& hello,
                                       const std::string& host) {
  if (host == inference::kHost) return std::nullopt;
  const auto offers = [&](std::string_view name) {
    return std::find(hello.alpn.begin(), hello.alpn.end(), name) != hello.alpn.end();
  };
  if (!offers("h2")) return std::nullopt;
  return offers("http/1.1") ? HttpVersions::kBoth : HttpVersions::kHttp2;
}

struct ReachedServer {
  std::unique_ptr<TlsStream> stream;  // nullptr: `failure` says why
  bool http2 = false;
  Dialled failure;
};

// The version that the server chooses is the one that the client is offered: none is translated.
asio::awaitable<ReachedServer> ReachServer(Worker* worker, Connection to, HttpVersions versions) {
  ReachedServer out;
  Dialled dialled = co_await worker->Dial(to);
  if (!dialled.status.ok()) {
    out.failure = std::move(dialled);
    co_return out;
  }
  boost::system::error_code error;
  Tcp::socket socket(*worker->loop());
  socket.assign(Tcp::v6(), dialled.socket.release(), error);
  auto stream = co_await ConnectTls(worker->tls(), std::move(socket), to.host, versions);
  if (!stream.ok()) {
    out.failure.status = stream.status();
    co_return out;
  }
  out.stream = *std::move(stream);
  out.stream->SetAccount(std::move(dialled.account));
  out.http2 = out.stream->alpn() == "h2";
  co_return out;
}

// With the client, whose first bytes were read already.
asio::awaitable<bool> Handshake(Worker* worker, const Passage& passage, TlsStream* tls,
                                const std::string& first) {
  const Deadline deadline(&tls->socket(), std::chrono::seconds(worker->limits().handshake));
  boost::system::error_code error;
  co_await tls->tls().async_handshake(TlsStream::Tls::server, asio::buffer(first),
                                      asio::redirect_error(asio::use_awaitable, error));
  if (!error) co_return true;
  worker->Report(RecordOf(Refused(passage, "tls_handshake",
                                  "TLS with the client failed: " + error.message() +
                                      "; a client that does not take the sandbox's certificates "
                                      "needs a rule with `tls: skip`")));
  co_return false;
}

}  // namespace

asio::awaitable<void> ServeTerminated(Worker* worker, Passage passage, Tcp::socket socket,
                                      std::string first) {
  PlainStream client(std::move(socket));
  const std::chrono::seconds handshake(worker->limits().handshake);
  ReceivedClientHello received;
  if (!co_await ReadFirst(&client, handshake, &first, &received)) co_return;
  Server server{.host = passage.to.host, .port = passage.to.port};
  const Program program = passage.to.program;
  if (received.state == ClientHelloState::kNotTls) {
    if (const HelloRefusal refusal = JudgeNoHello(passage); !refusal.code.empty()) {
      worker->Report(RecordOf(Refused(passage, refusal.code, refusal.reason)));
      co_return;
    }
    if (protocol::ReadH2Preface(first) == protocol::H2PrefaceState::kYes) {
      worker->Report(
          RecordOf(Refused(passage, "unsupported_protocol",
                           "HTTP/2 without TLS is not inspected, and so not let through")));
      co_return;
    }
    Exchange exchange(worker, &client, {program, passage.way, server});
    co_await exchange.Run(std::move(first));
    co_return;
  }
  const HelloRefusal refusal = JudgeHello(passage, received);
  if (!refusal.code.empty()) {
    worker->Report(RecordOf(Refused(passage, refusal.code, refusal.reason)));
    (void)co_await client.Write(kUnrecognizedName);
    co_return;
  }
  server.tls = true;
  ReachedServer reached;
  if (const auto versions = VersionsOf(received.hello, server.host)) {
    reached = co_await ReachServer(worker, passage.to, *versions);
    if (reached.stream == nullptr && *versions == HttpVersions::kHttp2) {
      worker->Report(RecordOf(Refused(passage, reached.failure)));
      co_return;
    }
  }
  const auto spoken = reached.http2 ? HttpVersions::kHttp2 : HttpVersions::kHttp11;
  const auto context = worker->tls()->ForClientOf(server.host, spoken);
  if (!context.ok()) {
    worker->Report(RecordOf(Refused(passage, "tls_unavailable", context.status().message())));
    co_return;
  }
  TlsStream tls(std::move(client.socket()), context->get());
  if (!co_await Handshake(worker, passage, &tls, first)) co_return;
  const Arrival arrival{program, passage.way, server};
  if (reached.http2) {
    const auto exchange = std::make_shared<H2Exchange>(worker, &tls, reached.stream.get(), arrival);
    co_return co_await exchange->Run();
  }
  Exchange exchange(worker, &tls, arrival);
  if (reached.stream != nullptr) exchange.Adopt(std::move(reached.stream));
  co_await exchange.Run("");
  co_await tls.Finish();
}

}  // namespace odyssey::egress
