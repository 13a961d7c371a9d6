#ifndef ODYSSEY_SUPERVISOR_EGRESS_WORKER_WORKER_H_
#define ODYSSEY_SUPERVISOR_EGRESS_WORKER_WORKER_H_

// A worker: what the connections of one cell have in common. Its policy, whose they are, the broker
// that dials for them, and what was decided. For one thread.

#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/os/unique_fd.h"
#include "policy/egress/decide.h"
#include "supervisor/egress/credentials/keyring.h"
#include "supervisor/egress/limits/limits.h"
#include "supervisor/egress/limits/meter.h"
#include "supervisor/egress/link/link.h"
#include "supervisor/egress/protocol/synthetic.h"
#include "supervisor/egress/worker/cell_inference.h"
#include "supervisor/egress/worker/identities.h"
#include "supervisor/egress/worker/ledger.h"
#include "supervisor/egress/worker/tls_contexts.h"
#include "supervisor/wire/egress_wire.h"

namespace odyssey::egress {

using Tcp = asio::ip::tcp;

// One that is refused or could not be made has no socket.
struct Dialled {
  Status status;
  std::string code;  // of a refusal by the policy
  std::string address;
  UniqueFd socket;
  std::chrono::seconds retry_after{0};      // of a refusal by a budget
  std::shared_ptr<Meter::Account> account;  // to be kept as long as the connection
};

class Worker final {
 public:
  using Policy = egress_wire::SetPolicy;

  // `roots`: the certificates by which servers are verified (PEM).
  Worker(asio::io_context* loop, UniqueFd broker, UniqueFd roots, const Limits& limits);

  // Until the broker is gone, or nothing was asked for in a while. The loop is to stop then.
  asio::awaitable<void> Run();

  asio::io_context* loop() { return loop_; }
  // The one in force now. A connection that keeps it decides by one policy to its end.
  std::shared_ptr<const Policy> policy() const { return policy_; }
  // What is in force now. Never null.
  std::shared_ptr<const credentials::Keyring> keyring() const { return keyring_; }
  protocol::SyntheticTable* names() { return &names_; }
  TlsContexts* tls() { return &tls_; }
  CellInference* inference() { return &inference_; }
  const Limits& limits() const { return limits_; }
  Meter* meter() { return ledger_.meter(); }

  Program ProgramOf(Tcp::socket* client);
  // What the budgets refuse is not dialled. `route`: of inference.local, where that is the host.
  asio::awaitable<Dialled> Dial(Connection to, std::string route = "");
  // The way, the verdict and what is about the decision are the caller's to say.
  void Report(egress_wire::Record record);

  // A connection that lasts: `shut` is called when a new policy refuses what it is for, or when
  // `allowed`, which decides by the new policy, says so. While the result lives.
  class Tunnel;
  std::unique_ptr<Tunnel> Hold(Connection what, std::function<void()> shut);
  std::unique_ptr<Tunnel> Hold(std::function<bool()> allowed, std::function<void()> shut);

 private:
  struct Held {
    std::function<bool()> allowed;
    std::function<void()> shut;
  };
  struct Waiting {
    explicit Waiting(asio::io_context* loop) : answered(*loop) {}
    asio::steady_timer answered;
    egress_wire::Dialed answer;
    UniqueFd socket;
  };

  Status OnMessage(Message message);
  void OnPolicy(Policy policy);
  void OnCredentials(egress_wire::SetCredentials message);
  void OnRoutes(egress_wire::SetRoutes routes);
  void Serve(const cell::EgressWay& way, UniqueFd fd);
  asio::awaitable<void> AcceptAll(cell::EgressWay way, std::shared_ptr<Tcp::acceptor> listener);
  void RefuseNext(Tcp::acceptor* listener);
  asio::awaitable<void> ServeClient(cell::EgressWay way, Tcp::socket client);
  asio::awaitable<void> WatchIdentities(UniqueFd arriving);
  asio::awaitable<void> EndWhenIdle();

  asio::io_context* const loop_;
  const Limits limits_;
  const std::shared_ptr<Link> broker_;
  Ledger ledger_;
  std::shared_ptr<const Policy> policy_;
  std::shared_ptr<const credentials::Keyring> keyring_;
  std::vector<credentials::Credential> next_keyring_;  // of a list that goes on
  Identities identities_;
  protocol::SyntheticTable names_;
  TlsContexts tls_;
  CellInference inference_;
  std::map<uint32_t, std::shared_ptr<Waiting>> dials_;
  uint32_t next_dial_ = 1;
  std::list<Held> held_;
  std::vector<std::shared_ptr<Tcp::acceptor>> listeners_;
  std::set<uint16_t> served_;  // ports of these
  uint32_t clients_ = 0;       // that are served now
  UniqueFd spare_;             // given up to refuse a client for lack of another one
  std::chrono::steady_clock::time_point last_use_;
};

class Worker::Tunnel final {
 public:
  Tunnel(std::list<Held>* all, std::list<Held>::iterator self) : all_(all), self_(self) {}
  ~Tunnel() { all_->erase(self_); }
  Tunnel(const Tunnel&) = delete;
  Tunnel& operator=(const Tunnel&) = delete;

 private:
  std::list<Held>* const all_;
  const std::list<Held>::iterator self_;
};

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_WORKER_WORKER_H_
