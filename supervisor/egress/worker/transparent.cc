#include "supervisor/egress/worker/transparent.h"

#include <chrono>
#include <optional>
#include <utility>

#include "policy/egress/pattern.h"
#include "supervisor/egress/worker/relay.h"
#include "supervisor/egress/worker/terminate.h"
#include "supervisor/egress/worker/tunnel.h"

namespace odyssey::egress {
namespace {

// The address as it was meant: IPv4 also where the socket is of IPv6.
asio::ip::address Meant(const asio::ip::address& address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
  }
  return address;
}

}  // namespace

std::optional<std::string> NameOf(Worker* worker, const asio::ip::address& address) {
  const auto now = std::chrono::steady_clock::now();
  if (address.is_v4()) return worker->names()->Find(address.to_v4().to_bytes(), now);
  return worker->names()->Find(address.to_v6().to_bytes(), now);
}

asio::awaitable<void> ServeTransparent(Worker* worker, Tcp::socket client) {
  boost::system::error_code error;
  const Tcp::endpoint to = client.local_endpoint(error);
  if (error) co_return;
  const asio::ip::address address = Meant(to.address());
  Passage passage{.way = "tcp"};
  passage.to.port = to.port();
  passage.to.program = worker->ProgramOf(&client);
  passage.to.host = NameOf(worker, address).value_or(address.to_string());
  const Result<std::string> host = NormalizeHost(passage.to.host);
  if (host.ok()) {
    passage.to.host = *host;
    Decide(worker, &passage);
  } else {
    passage = Refused(std::move(passage), "ssrf_denied", host.status().message());
  }
  if (!passage.decision.allowed) {
    worker->Report(RecordOf(passage));
    Reset(&client);
    co_return;
  }
  if (passage.decision.inspected) {
    worker->Report(RecordOf(passage));
    co_return co_await ServeTerminated(worker, std::move(passage), std::move(client), "");
  }
  Dialled dialled = co_await worker->Dial(passage.to);
  if (!dialled.status.ok()) {
    worker->Report(RecordOf(Refused(std::move(passage), dialled)));
    Reset(&client);
    co_return;
  }
  egress_wire::Record record = RecordOf(passage);
  record.address = dialled.address;
  worker->Report(std::move(record));
  co_await ServeTunnel(worker, std::move(passage), std::move(client), std::move(dialled), "");
}

}  // namespace odyssey::egress
