#include "supervisor/egress/worker/proxy.h"

#include <optional>
#include <utility>

#include "policy/egress/pattern.h"
#include "supervisor/egress/protocol/socks5.h"
#include "supervisor/egress/worker/exchange.h"
#include "supervisor/egress/worker/stream.h"
#include "supervisor/egress/worker/terminate.h"
#include "supervisor/egress/worker/tunnel.h"

namespace odyssey::egress {
namespace {

using protocol::Socks5;
using protocol::Socks5Code;

constexpr char kSocksVersion = 5;

asio::awaitable<void> ServeConnect(Worker* worker, PlainStream* client, Program program,
                                   const http::RequestHead& head, Exchange* exchange) {
  Passage passage{.way = "connect"};
  passage.to = {.host = head.authority.host,
                .port = head.authority.port.value_or(0),
                .program = std::move(program)};
  const auto refuse = [&](int status) {
    return exchange->Refuse(passage, RefusalOf(passage, status, &head));
  };
  if (!head.authority.never.empty()) {
    passage.to.host = head.authority.written;
    passage = Refused(std::move(passage), "ssrf_denied", head.authority.never);
    co_return co_await refuse(403);
  }
  Decide(worker, &passage);
  if (!passage.decision.allowed) co_return co_await refuse(403);
  const bool terminate = passage.decision.inspected;
  Dialled dialled;
  if (!terminate) {
    dialled = co_await worker->Dial(passage.to);
    if (!dialled.status.ok()) {
      passage = Refused(std::move(passage), dialled);
      co_return co_await refuse(HttpStatusOf(passage));
    }
  }
  egress_wire::Record record = RecordOf(passage);
  record.address = dialled.address;
  record.status = 200;
  worker->Report(std::move(record));
  if (!(co_await client->Write("HTTP/1.1 200 Connection established\r\n\r\n")).ok()) co_return;
  std::string first = exchange->TakeBuffered();
  if (terminate) {
    co_await ServeTerminated(worker, std::move(passage), std::move(client->socket()),
                             std::move(first));
  } else {
    co_await ServeTunnel(worker, std::move(passage), std::move(client->socket()),
                         std::move(dialled), std::move(first));
  }
}

asio::awaitable<void> ServeSocks(Worker* worker, PlainStream* client, Program program,
                                 std::string bytes) {
  Socks5 socks;
  {
    const Deadline deadline(&client->socket(), std::chrono::seconds(worker->limits().head));
    for (;;) {
      bytes.erase(0, socks.Feed(bytes));
      const std::string output = socks.TakeOutput();
      if (socks.state() == Socks5::State::kRefused) {
        const Passage malformed{.to = {.program = program}, .way = "socks"};
        worker->Report(RecordOf(Refused(malformed, "malformed_request",
                                        "the client sent no request of SOCKS5 to connect to a "
                                        "name or an address")));
      }
      if (!output.empty() && !(co_await client->Write(output)).ok()) co_return;
      if (socks.state() != Socks5::State::kMore) break;
      const Result<bool> more = co_await client->Read(&bytes);
      if (!more.ok() || !*more) co_return;
    }
  }
  if (socks.state() != Socks5::State::kRequest) co_return;
  Passage passage{.way = "socks"};
  passage.to = {.host = socks.destination().host,
                .port = socks.destination().port,
                .program = std::move(program)};
  const Result<std::string> host = NormalizeHost(passage.to.host);
  if (host.ok()) {
    passage.to.host = *host;
    Decide(worker, &passage);
  } else {
    const bool closed = host.status().code() == Code::kPermissionDenied;
    passage = Refused(std::move(passage), closed ? "ssrf_denied" : "malformed_request",
                      host.status().message());
  }
  const bool terminate = passage.decision.allowed && passage.decision.inspected;
  Dialled dialled;
  if (passage.decision.allowed && !terminate) {
    dialled = co_await worker->Dial(passage.to);
    if (!dialled.status.ok()) passage = Refused(std::move(passage), dialled);
  }
  egress_wire::Record record = RecordOf(passage);
  record.address = dialled.address;
  worker->Report(std::move(record));
  if (!passage.decision.allowed) {
    const bool failed = passage.code == kUnreachable;
    const auto code = failed ? Socks5Code::kHostUnreachable : Socks5Code::kNotAllowed;
    (void)co_await client->Write(protocol::Socks5Reply(code));
    co_return;
  }
  if (!(co_await client->Write(protocol::Socks5Reply(Socks5Code::kSucceeded))).ok()) co_return;
  if (terminate) {
    co_await ServeTerminated(worker, std::move(passage), std::move(client->socket()),
                             std::move(bytes));
  } else {
    co_await ServeTunnel(worker, std::move(passage), std::move(client->socket()),
                         std::move(dialled), std::move(bytes));
  }
}

}  // namespace

asio::awaitable<void> ServeProxy(Worker* worker, Tcp::socket socket) {
  Program program = worker->ProgramOf(&socket);
  PlainStream client(std::move(socket));
  std::string first;
  {
    const Deadline deadline(&client.socket(), std::chrono::seconds(worker->limits().head));
    const Result<bool> more = co_await client.Read(&first);
    if (!more.ok() || !*more) co_return;
  }
  if (first[0] == kSocksVersion) {
    co_return co_await ServeSocks(worker, &client, std::move(program), std::move(first));
  }
  Exchange exchange(worker, &client, {program, "request", std::nullopt});
  const std::optional<http::RequestHead> connect = co_await exchange.Run(std::move(first));
  if (connect) co_await ServeConnect(worker, &client, std::move(program), *connect, &exchange);
}

}  // namespace odyssey::egress
