#include "supervisor/egress/worker/worker.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "supervisor/egress/worker/name_server.h"
#include "supervisor/egress/worker/proxy.h"
#include "supervisor/egress/worker/transparent.h"
#include "supervisor/egress/worker/unserved.h"

namespace odyssey::egress {
namespace {

using cell::EgressWay;
using egress_wire::MessageType;

constexpr auto kIdle = std::chrono::seconds(60);
constexpr auto kAcceptPause = std::chrono::milliseconds(50);  // after accept(2) failed
constexpr std::chrono::seconds kNameTtl{30};

}  // namespace

Worker::Worker(asio::io_context* loop, UniqueFd broker, UniqueFd roots, const Limits& limits)
    : loop_(loop),
      limits_(limits),
      broker_(std::make_shared<Link>(loop, std::move(broker))),
      ledger_(loop, broker_, limits.per_host),
      policy_(std::make_shared<Policy>()),
      keyring_(std::make_shared<credentials::Keyring>()),
      identities_([this](const std::string& path) { return IsPinned(policy_->policy, path); }),
      names_(kNameTtl),
      tls_(std::move(roots)) {}

asio::awaitable<void> Worker::Run() {
  asio::co_spawn(*loop_, EndWhenIdle(), asio::detached);
  for (;;) {
    Result<Message> message = co_await broker_->Receive();
    if (!message.ok() || !OnMessage(std::move(*message)).ok()) break;
  }
  ledger_.Flush();
  loop_->stop();
}

Status Worker::OnMessage(Message message) {
  ODY_ASSIGN_OR_RETURN(const MessageType type, egress_wire::TypeOf(message.bytes));
  if (type == MessageType::kSetPolicy) {
    Policy policy;
    ODY_RETURN_IF_ERROR(egress_wire::Decode(message.bytes, &policy));
    OnPolicy(std::move(policy));
    return OkStatus();
  }
  if (type == MessageType::kSetAuthority) {
    egress_wire::SetAuthority authority;
    ODY_RETURN_IF_ERROR(egress_wire::Decode(message.bytes, &authority));
    ODY_ASSIGN_OR_RETURN(tls::Authority loaded, tls::Authority::Load(authority.text));
    tls_.SetAuthority(std::move(loaded));
    return OkStatus();
  }
  if (type == MessageType::kSetRoutes) {
    egress_wire::SetRoutes routes;
    ODY_RETURN_IF_ERROR(egress_wire::Decode(message.bytes, &routes));
    OnRoutes(std::move(routes));
    return OkStatus();
  }
  if (type == MessageType::kWay) {
    egress_wire::Way way;
    ODY_RETURN_IF_ERROR(egress_wire::Decode(message.bytes, &way));
    if (message.fds.size() == 1) Serve(way.way, std::move(message.fds[0]));
    return OkStatus();
  }
  if (type == MessageType::kSetCredentials) {
    egress_wire::SetCredentials list;
    ODY_RETURN_IF_ERROR(egress_wire::Decode(message.bytes, &list));
    credentials::Wipe(&message.bytes);
    OnCredentials(std::move(list));
    return OkStatus();
  }
  if (type == MessageType::kTraffic) {
    egress_wire::Traffic used;
    ODY_RETURN_IF_ERROR(egress_wire::Decode(message.bytes, &used));
    meter()->Restore({.key = std::move(used.key), .up = used.up, .down = used.down});
    return OkStatus();
  }
  if (type == MessageType::kSync) {
    egress_wire::Sync sync;
    ODY_RETURN_IF_ERROR(egress_wire::Decode(message.bytes, &sync));
    broker_->Send(egress_wire::Encode(egress_wire::Synced{sync.number}));
    return OkStatus();
  }
  egress_wire::Dialed answer;
  ODY_RETURN_IF_ERROR(egress_wire::Decode(message.bytes, &answer));
  const auto it = dials_.find(answer.id);
  if (it == dials_.end()) return OkStatus();
  it->second->answer = std::move(answer);
  if (!message.fds.empty()) it->second->socket = std::move(message.fds[0]);
  it->second->answered.cancel();
  return OkStatus();
}

// ── The policy ──────────────────────────────────────────────────────────────────────────────────

void Worker::OnPolicy(Policy policy) {
  policy_ = std::make_shared<const Policy>(std::move(policy));
  meter()->SetPolicy(policy_->policy);
  for (auto it = held_.begin(); it != held_.end();) {
    const Held& held = *it++;  // shutting it may remove it
    if (!held.allowed()) held.shut();
  }
  broker_->Send(egress_wire::Encode(egress_wire::Loaded{policy_->revision}));
}

// An endpoint that is none binds nothing.
void Worker::OnCredentials(egress_wire::SetCredentials message) {
  for (egress_wire::Credential& one : message.credentials) {
    credentials::Credential credential{.provider = std::move(one.provider),
                                       .key = std::move(one.key),
                                       .placeholder = std::move(one.placeholder),
                                       .secret = credentials::Secret(std::move(one.secret))};
    for (const std::string& text : one.endpoints) {
      auto endpoint = credentials::ParseEndpointPattern(text);
      if (endpoint.ok()) credential.endpoints.push_back(std::move(*endpoint));
    }
    next_keyring_.push_back(std::move(credential));
  }
  if (message.more) return;
  keyring_ = std::make_shared<credentials::Keyring>(std::exchange(next_keyring_, {}));
}

void Worker::OnRoutes(egress_wire::SetRoutes routes) {
  inference_.spending.SetBudget(routes.budget, routes.used);
  inference_.set = std::make_shared<const egress_wire::SetRoutes>(std::move(routes));
}

std::unique_ptr<Worker::Tunnel> Worker::Hold(Connection what, std::function<void()> shut) {
  return Hold(
      [this, what = std::move(what)] { return DecideConnection(policy_->policy, what).allowed; },
      std::move(shut));
}

std::unique_ptr<Worker::Tunnel> Worker::Hold(std::function<bool()> allowed,
                                             std::function<void()> shut) {
  held_.push_back({std::move(allowed), std::move(shut)});
  return std::make_unique<Tunnel>(&held_, std::prev(held_.end()));
}

void Worker::Report(egress_wire::Record record) {
  record.revision = policy_->revision;
  ledger_.Report(record);
}

// ── Clients ─────────────────────────────────────────────────────────────────────────────────────

void Worker::Serve(const EgressWay& way, UniqueFd fd) {
  switch (way.kind) {
    case EgressWay::Kind::kIdentities:
      asio::co_spawn(*loop_, WatchIdentities(UniqueFd(fcntl(fd.get(), F_DUPFD_CLOEXEC, 0))),
                     asio::detached);
      return identities_.Open(std::move(fd));
    case EgressWay::Kind::kSocketTable:
      return identities_.OpenTable(std::move(fd));
    case EgressWay::Kind::kNames:
      asio::co_spawn(*loop_, ServeNames(this, std::move(fd)), asio::detached);
      return;
    default:
      break;
  }
  served_.insert(way.port);
  if (!spare_) spare_ = UniqueFd(fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
  auto listener = std::make_shared<Tcp::acceptor>(*loop_, Tcp::v6(), fd.release());
  boost::system::error_code ignored;
  listener->native_non_blocking(true, ignored);
  listeners_.push_back(listener);
  asio::co_spawn(*loop_, AcceptAll(way, listener), asio::detached);
}

// Of connections that arrive nowhere too.
asio::awaitable<void> Worker::WatchIdentities(UniqueFd arriving) {
  identities_.set_on_arrival([this](const std::string& destination, const Program& program) {
    ReportUnserved(this, destination, program, served_);
  });
  asio::posix::stream_descriptor descriptor(*loop_, arriving.release());
  boost::system::error_code error;
  do {
    co_await descriptor.async_wait(asio::posix::stream_descriptor::wait_read,
                                   asio::redirect_error(asio::use_awaitable, error));
  } while (!error && identities_.Drain());
}

asio::awaitable<void> Worker::AcceptAll(EgressWay way, std::shared_ptr<Tcp::acceptor> listener) {
  while (listener->is_open()) {
    boost::system::error_code error;
    Tcp::socket client(*loop_);
    const bool full = clients_ >= limits_.clients;
    if (!full) {
      co_await listener->async_accept(client, asio::redirect_error(asio::use_awaitable, error));
    }
    if (error == asio::error::operation_aborted) break;
    if (error == asio::error::no_descriptors) RefuseNext(listener.get());
    if (error || full) {
      // What connects waits in the kernel's queue.
      asio::steady_timer pause(*loop_, kAcceptPause);
      co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
      continue;
    }
    client.set_option(Tcp::no_delay(true), error);
    asio::co_spawn(*loop_, ServeClient(way, std::move(client)), asio::detached);
  }
}

// It would wait for as long as others keep their descriptors.
void Worker::RefuseNext(Tcp::acceptor* listener) {
  const int fd = listener->native_handle();
  spare_.reset();
  UniqueFd client(accept4(fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  const linger reset{.l_onoff = 1, .l_linger = 0};
  if (client) setsockopt(client.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
  const bool refused = static_cast<bool>(client);
  client.reset();
  spare_ = UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!refused) return;
  egress_wire::Record record;
  record.way = "accept";
  record.code = kOverloaded;
  record.reason = kNoDescriptors;
  Report(std::move(record));
}

asio::awaitable<void> Worker::ServeClient(EgressWay way, Tcp::socket client) {
  ++clients_;
  try {
    if (way.kind == EgressWay::Kind::kProxy) {
      co_await ServeProxy(this, std::move(client));
    } else if (way.kind == EgressWay::Kind::kNameStreams) {
      co_await ServeNameStream(this, std::move(client));
    } else {
      co_await ServeTransparent(this, std::move(client));
    }
  } catch (const std::exception& e) {
    // Of the libraries, for lack of memory: this connection ends, and no other.
    fprintf(stderr, "<4>odyssey-egress-worker: %s\n", e.what());
  }
  --clients_;
  last_use_ = std::chrono::steady_clock::now();
}

Program Worker::ProgramOf(Tcp::socket* client) { return identities_.Of(client->native_handle()); }

asio::awaitable<Dialled> Worker::Dial(Connection to, std::string route) {
  Excess excess;
  std::shared_ptr<Meter::Account> account =
      ledger_.Open(to.host, DecideConnection(policy_->policy, to).pairs, &excess);
  if (!account) {
    co_return Dialled{.status = ResourceExhausted(std::move(excess.reason)),
                      .code = std::move(excess.code),
                      .retry_after = excess.retry_after};
  }
  const uint32_t id = next_dial_++;
  const auto waiting = std::make_shared<Waiting>(loop_);
  waiting->answered.expires_at(asio::steady_timer::time_point::max());
  dials_[id] = waiting;
  broker_->Send(egress_wire::Encode(egress_wire::Dial{.id = id,
                                                      .host = to.host,
                                                      .port = to.port,
                                                      .program = to.program.path,
                                                      .ancestors = to.program.ancestors,
                                                      .sha256 = to.program.sha256,
                                                      .route = std::move(route)}));
  boost::system::error_code ignored;
  co_await waiting->answered.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  dials_.erase(id);
  Dialled out{.status = std::move(waiting->answer.status),
              .code = std::move(waiting->answer.code),
              .address = std::move(waiting->answer.address),
              .socket = std::move(waiting->socket),
              .account = std::move(account)};
  if (out.status.ok() && !out.socket) {
    out.status = ResourceExhausted(kNoDescriptors);
    out.code = kOverloaded;
  }
  co_return out;
}

// The kernel keeps what connects meanwhile, for the next worker.
asio::awaitable<void> Worker::EndWhenIdle() {
  last_use_ = std::chrono::steady_clock::now();
  asio::steady_timer timer(*loop_);
  for (;;) {
    timer.expires_at(last_use_ + kIdle);
    boost::system::error_code ignored;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    if (clients_ > 0) last_use_ = std::chrono::steady_clock::now();
    if (std::chrono::steady_clock::now() >= last_use_ + kIdle) break;
  }
  ledger_.Flush();
  broker_->Close();
  loop_->stop();
}

}  // namespace odyssey::egress
