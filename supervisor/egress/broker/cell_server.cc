#include "supervisor/egress/broker/cell_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "supervisor/egress/broker/cell_credentials.h"
#include "supervisor/egress/inference/decide.h"

namespace odyssey::egress {
namespace {

using egress_wire::Dial;
using egress_wire::Dialed;
using egress_wire::MessageType;
using Tcp = asio::ip::tcp;

constexpr auto kDialTimeout = std::chrono::seconds(30);  // until the last one is tried
constexpr auto kStartPause = std::chrono::seconds(1);    // after a worker could not be started
constexpr size_t kMaxUsedKeys = 1024;

UniqueFd Copy(int fd) { return UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 0)); }

std::string WithPort(const asio::ip::address& address, uint16_t port) {
  const std::string text = address.to_string();
  return (address.is_v6() ? "[" + text + "]" : text) + ":" + std::to_string(port);
}

std::vector<AddressRange> RangesOf(const Addresses& addresses) {
  std::vector<AddressRange> out;
  for (const auto& address : addresses) {
    // Without the zone of a link-local one, which is refused all the same.
    const std::string text = address.to_string();
    out.push_back(ParseAddress(text.substr(0, text.find('%'))).value_or(AddressRange{}));
  }
  return out;
}

// Of this machine, now.
std::vector<AddressRange> OwnAddresses() {
  std::vector<AddressRange> out;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return out;
  for (const ifaddrs* own = all; own != nullptr; own = own->ifa_next) {
    char text[INET6_ADDRSTRLEN] = "";
    if (own->ifa_addr == nullptr) continue;
    const int family = own->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const void* address =
        family == AF_INET
            ? static_cast<const void*>(&reinterpret_cast<sockaddr_in*>(own->ifa_addr)->sin_addr)
            : &reinterpret_cast<sockaddr_in6*>(own->ifa_addr)->sin6_addr;
    if (inet_ntop(family, address, text, sizeof(text)) == nullptr) continue;
    if (const auto range = ParseAddress(text)) out.push_back(*range);
  }
  freeifaddrs(all);
  return out;
}

}  // namespace

CellServer::CellServer(const BrokerParts& parts, UniqueFd rpc)
    : parts_(parts),
      rpc_(std::make_shared<Link>(parts.loop, std::move(rpc))),
      routes_(parts.routes) {}

asio::awaitable<void> CellServer::Run() {
  const auto self = shared_from_this();
  for (;;) {
    Result<Message> message = co_await rpc_->Receive();
    if (!message.ok() || !OnRpc(std::move(*message)).ok()) break;
  }
  End();
}

// rpc takes what the worker still has to say.
void CellServer::End() {
  ended_ = true;
  ways_.clear();
  if (std::exchange(asked_, false)) parts_.shares->workers.Forget(this);
  worker_ ? worker_->Finish() : rpc_->Close();
}

Status CellServer::OnRpc(Message message) {
  ODY_ASSIGN_OR_RETURN(const MessageType type, egress_wire::TypeOf(message.bytes));
  if (type == MessageType::kSetPolicy) {
    egress_wire::SetPolicy policy;
    ODY_RETURN_IF_ERROR(egress_wire::Decode(message.bytes, &policy));
    policy_ = std::make_shared<const egress_wire::SetPolicy>(std::move(policy));
    encoded_policy_ = std::move(message.bytes);
    TellProviders();
    if (worker_) GiveRoutes();
    worker_ ? worker_->Send(encoded_policy_) : TellLoaded();
    return OkStatus();
  }
  if (type == MessageType::kSetAuthority) {
    encoded_authority_ = std::move(message.bytes);
    if (worker_) worker_->Send(encoded_authority_);
    return OkStatus();
  }
  if (type == MessageType::kSync) {
    egress_wire::Sync sync;
    ODY_RETURN_IF_ERROR(egress_wire::Decode(message.bytes, &sync));
    sync_ = sync.number;
    worker_ ? worker_->Send(std::move(message.bytes)) : TellSynced();
    return OkStatus();
  }
  egress_wire::Way way;
  ODY_RETURN_IF_ERROR(egress_wire::Decode(message.bytes, &way));
  if (message.fds.size() != 1) return InvalidArgument("a way has one descriptor");
  ways_[way.way] = std::make_shared<Descriptor>(*parts_.loop, message.fds[0].release());
  worker_ ? GiveWay(way.way) : Watch(way.way);
  return OkStatus();
}

// ── Credentials ─────────────────────────────────────────────────────────────────────────────────

void CellServer::OnProviderChanged(uid_t owner) {
  if (owner != policy_->owner_uid || policy_->providers.empty()) return;
  TellProviders();
}

void CellServer::TellProviders() {
  CellCredentials cell = CredentialsOf(*policy_, *parts_.providers);
  rpc_->Send(egress_wire::Encode(cell.placeholders));
  GiveCredentials(std::move(cell.credentials));
}

// The broker keeps no secret of a cell: the next worker gets what the files have then.
void CellServer::GiveCredentials(std::vector<egress_wire::Credential> all) {
  for (std::string& message : EncodeCredentials(std::move(all))) {
    if (worker_) {
      worker_->Send(std::move(message));
    } else {
      credentials::Wipe(&message);
    }
  }
}

// ── The worker ──────────────────────────────────────────────────────────────────────────────────

void CellServer::Watch(const cell::EgressWay& way) {
  // The kernel answers on it, and only what a worker asks.
  if (way.kind == cell::EgressWay::Kind::kSocketTable) return;
  const auto descriptor = ways_[way];
  descriptor->async_wait(Descriptor::wait_read, [self = shared_from_this(), descriptor](
                                                    const boost::system::error_code& error) {
    if (!error) self->AskForWorker();
  });
}

void CellServer::AskForWorker() {
  if (worker_ || ended_ || std::exchange(asked_, true)) return;
  (void)parts_.shares->workers.Ask(this, 1,
                                   [self = shared_from_this()] { self->OnPlaceForWorker(); });
}

void CellServer::OnPlaceForWorker() {
  asked_ = false;
  const Status started = StartWorker();
  if (started.ok()) return;
  fprintf(stderr, "<3>odyssey-egress: %s\n", started.message().c_str());
  const auto pause = std::make_shared<asio::steady_timer>(*parts_.loop, kStartPause);
  pause->async_wait([self = shared_from_this(), pause](const boost::system::error_code&) {
    self->parts_.shares->workers.Release(self.get());
    if (!self->ended_) self->WatchAll();
  });
}

void CellServer::WatchAll() {
  for (const auto& [way, descriptor] : ways_) Watch(way);
}

Status CellServer::StartWorker() {
  ODY_ASSIGN_OR_RETURN(auto ends, MessageSocketPair());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends.second.get(), egress_wire::kWorkerFd);
  char name[] = "odyssey-egress-worker";
  std::string roots = parts_.worker->certificates;
  std::vector<std::string> limits = ToText(parts_.worker->limits);
  std::vector<char*> argv = {name, roots.data()};
  for (std::string& limit : limits) argv.push_back(limit.data());
  argv.push_back(nullptr);
  char* const no_environment[] = {nullptr};
  pid_t pid = -1;
  const int error = posix_spawn(&pid, parts_.worker->path.c_str(), &actions, nullptr, argv.data(),
                                no_environment);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return ErrnoStatus(error, "start " + parts_.worker->path);
  worker_ = std::make_shared<Link>(parts_.loop, std::move(ends.first));
  GiveCredentials(CredentialsOf(*policy_, *parts_.providers).credentials);
  worker_->Send(encoded_policy_);
  if (!encoded_authority_.empty()) worker_->Send(encoded_authority_);
  GiveRoutes();
  for (const auto& [key, used] : used_) worker_->Send(egress_wire::Encode(used));
  for (const auto& [way, descriptor] : ways_) {
    descriptor->cancel();
    GiveWay(way);
  }
  asio::co_spawn(*parts_.loop, ServeWorker(worker_), asio::detached);
  return OkStatus();
}

// The policy of now decides.
void CellServer::TellLoaded() {
  rpc_->Send(egress_wire::Encode(egress_wire::Loaded{policy_->revision}));
}

void CellServer::TellSynced() { rpc_->Send(egress_wire::Encode(egress_wire::Synced{sync_})); }

void CellServer::GiveWay(const cell::EgressWay& way) {
  worker_->Send(egress_wire::Encode(egress_wire::Way{way}), Copy(ways_[way]->native_handle()));
}

// Before the ways: what arrives on them may need the routes.
void CellServer::GiveRoutes() {
  std::string routes = routes_.Read(*policy_);
  if (!routes.empty()) worker_->Send(std::move(routes));
}

asio::awaitable<void> CellServer::ServeWorker(std::shared_ptr<Link> worker) {
  const auto self = shared_from_this();
  for (;;) {
    const Result<Message> message = co_await worker->Receive();
    if (!message.ok() || !OnWorker(worker, *message).ok()) break;
  }
  worker->Close();
  worker_.reset();
  for (auto& [key, used] : used_) used.open = 0;
  TellTraffic();
  parts_.shares->dials.Forget(this);
  parts_.shares->workers.Release(this);
  if (ended_) co_return rpc_->Close();
  // What the worker did not say before it ended.
  TellLoaded();
  TellSynced();
  // What arrived meanwhile starts the next one.
  WatchAll();
}

// What it may say to rpc goes there as it is, once it decodes.
Status CellServer::OnWorker(const std::shared_ptr<Link>& worker, const Message& message) {
  ODY_ASSIGN_OR_RETURN(const MessageType type, egress_wire::TypeOf(message.bytes));
  if (type == MessageType::kDial) {
    Dial dial;
    ODY_RETURN_IF_ERROR(egress_wire::Decode(message.bytes, &dial));
    OnDial(worker, std::move(dial));
    return OkStatus();
  }
  if (type == MessageType::kTraffic) {
    egress_wire::Traffic used;
    ODY_RETURN_IF_ERROR(egress_wire::Decode(message.bytes, &used));
    OnTraffic(std::move(used));
    return OkStatus();
  }
  if (type == MessageType::kLoaded) {
    egress_wire::Loaded loaded;
    ODY_RETURN_IF_ERROR(egress_wire::Decode(message.bytes, &loaded));
    if (loaded.revision == policy_->revision) TellLoaded();
    return OkStatus();
  }
  if (type == MessageType::kSynced) {
    egress_wire::Synced synced;
    ODY_RETURN_IF_ERROR(egress_wire::Decode(message.bytes, &synced));
    rpc_->Send(message.bytes);
    return OkStatus();
  }
  egress_wire::Record record;
  ODY_RETURN_IF_ERROR(egress_wire::Decode(message.bytes, &record));
  routes_.Count(record);
  rpc_->Send(message.bytes);
  return OkStatus();
}

// A count only grows, whatever a worker says.
void CellServer::OnTraffic(egress_wire::Traffic used) {
  if (used_.size() >= kMaxUsedKeys && used_.count(used.key) == 0) return;
  egress_wire::Traffic& known = used_[used.key];
  used.up = std::max(known.up, used.up);
  used.down = std::max(known.down, used.down);
  known = std::move(used);
  if (known.key.empty()) TellTraffic();
}

void CellServer::TellTraffic() {
  const auto cell = used_.find("");
  if (cell != used_.end()) rpc_->Send(egress_wire::Encode(cell->second));
}

// ── Dialling ────────────────────────────────────────────────────────────────────────────────────

// One client of the worker has one at a time.
void CellServer::OnDial(const std::shared_ptr<Link>& worker, Dial dial) {
  const uint32_t id = dial.id;
  const bool taken = parts_.shares->dials.Ask(
      this, parts_.worker->limits.clients,
      [self = shared_from_this(), worker, dial = std::move(dial)] {
        asio::co_spawn(*self->parts_.loop, self->Serve(worker, dial), asio::detached);
      });
  if (taken) return;
  Dialed answer{.id = id};
  answer.status = ResourceExhausted("the cell has too many connections under way");
  worker->Send(egress_wire::Encode(answer));
}

asio::awaitable<void> CellServer::Serve(std::shared_ptr<Link> worker, Dial dial) {
  const auto self = shared_from_this();
  Dialed answer{.id = dial.id};
  Result<UniqueFd> socket = co_await Connect(dial, &answer);
  parts_.shares->dials.Release(this);
  answer.status = socket.status();
  worker->Send(egress_wire::Encode(answer), socket.ok() ? std::move(*socket) : UniqueFd());
}

asio::awaitable<Result<UniqueFd>> CellServer::Connect(const Dial& dial, Dialed* answer) {
  const auto policy = policy_;  // whatever comes meanwhile
  const Connection to{.host = dial.host,
                      .port = dial.port,
                      .program = {.path = dial.program,
                                  .ancestors = dial.ancestors,
                                  .known = !dial.program.empty(),
                                  .sha256 = dial.sha256}};
  const Decision decision = DecideConnection(policy->policy, to);
  if (!decision.allowed) {
    answer->code = CodeOf(decision.refusal);
    co_return PermissionDenied(decision.reason);
  }
  if (to.host == inference::kHost) co_return co_await ConnectRoute(dial.route, answer);
  co_return co_await ConnectChecked(to, decision.pairs, answer);
}

// The server of a route is as named by a rule of its own: what no policy opens, it does not open
// either, but where the operator wrote the address itself.
asio::awaitable<Result<UniqueFd>> CellServer::ConnectRoute(const std::string& name,
                                                           Dialed* answer) {
  const egress_wire::Route* const route = routes_.Find(name);
  if (route == nullptr) {
    answer->code = CodeOf(Refusal::kPolicyDenied);
    co_return PermissionDenied("the cell has no such route");
  }
  const Connection to{.host = route->host, .port = route->port};
  boost::system::error_code error;
  const auto literal = asio::ip::make_address(to.host, error);
  if (!error) co_return co_await ConnectToAny(Addresses(1, literal), to.port, answer);
  const Rule rule = RuleFor("", to.host, to.port);
  const std::vector<Pair> pairs(1, Pair{&rule, &rule.endpoints[0]});
  co_return co_await ConnectChecked(to, pairs, answer);
}

asio::awaitable<Result<UniqueFd>> CellServer::ConnectChecked(Connection to, std::vector<Pair> pairs,
                                                             Dialed* answer) {
  Result<Addresses> addresses = co_await AddressesOf(to.host);
  if (!addresses.ok()) co_return addresses.status();
  const Decision checked = DecideAddresses(to, pairs, RangesOf(*addresses), OwnAddresses());
  if (!checked.allowed) {
    answer->code = CodeOf(checked.refusal);
    co_return PermissionDenied(checked.reason);
  }
  co_return co_await ConnectToAny(*std::move(addresses), to.port, answer);
}

asio::awaitable<Result<UniqueFd>> CellServer::ConnectToAny(Addresses addresses, uint16_t port,
                                                           Dialed* answer) {
  Status last = Unavailable("no address");
  const auto begin = std::chrono::steady_clock::now();
  for (const auto& address : addresses) {
    if (std::chrono::steady_clock::now() - begin >= kDialTimeout) break;
    Result<UniqueFd> socket = co_await parts_.dialer->Connect({address, port});
    if (socket.ok()) {
      answer->address = WithPort(address, port);
      co_return socket;
    }
    last =
        Status(socket.status().code(), WithPort(address, port) + ": " + socket.status().message());
  }
  co_return last;
}

asio::awaitable<Result<Addresses>> CellServer::AddressesOf(const std::string& host) {
  boost::system::error_code error;
  const auto literal = asio::ip::make_address(host, error);
  if (!error) co_return Addresses{literal};
  co_return co_await parts_.names->Find(host);
}

}  // namespace odyssey::egress
