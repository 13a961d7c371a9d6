#include "supervisor/rpc/egress_link.h"

#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "common/os/unix_connect.h"

namespace odyssey::supervisor {
namespace {

using cell::EgressWay;

constexpr unsigned kOnlyPlace = 0;
// Where any port may be reached: those on which a program that knows no proxy is served.
const std::vector<uint16_t> kUsualPorts = {22, 80, 443, 3000, 5000, 8000, 8080, 8443, 9418};
constexpr auto kRetry = std::chrono::milliseconds(250);
constexpr auto kLastRecords = std::chrono::seconds(2);  // of a cell that ended

}  // namespace

EgressLink::EgressLink(EventLoop* loop, std::string socket_path, std::string cell_id, Events events)
    : loop_(loop), socket_path_(std::move(socket_path)), events_(std::move(events)) {
  policy_.cell_id = std::move(cell_id);
}

EgressLink::~EgressLink() {
  if (socket_) loop_->Forget(group_);
}

Status EgressLink::Open() {
  const Status status = Connect();
  if (status.ok()) return status;
  return Unavailable("network egress: odyssey-egress does not serve (" + status.message() +
                     "); it is started with the supervisor");
}

// Does not block: connect(2) of a non-blocking local socket fails while the listener's queue is
// full.
Status EgressLink::Connect() {
  ODY_ASSIGN_OR_RETURN(socket_, ConnectUnix(socket_path_, SOCK_SEQPACKET | SOCK_NONBLOCK));
  group_ = loop_->NewGroup();
  loop_->Watch(group_, kOnlyPlace, socket_.get(), EventLoop::When::kReadable,
               [weak = weak_from_this()] {
                 if (const auto self = weak.lock()) self->OnReadable();
               });
  if (policy_.revision != 0) Send(egress_wire::Encode(policy_));
  if (!authority_.text.empty()) Send(egress_wire::Encode(authority_));
  for (const auto& [way, fd] : ways_) Send(egress_wire::Encode(egress_wire::Way{way}), fd.get());
  return OkStatus();
}

void EgressLink::SetProviders(uint32_t owner_uid, std::vector<std::string> names) {
  policy_.owner_uid = owner_uid;
  policy_.providers = std::move(names);
}

void EgressLink::SetPolicy(const egress::NetworkPolicy& policy, uint64_t revision) {
  policy_.policy = policy;
  policy_.revision = revision;
  Send(egress_wire::Encode(policy_));
}

void EgressLink::SetAuthority(const std::string& text) {
  authority_.text = text;
  Send(egress_wire::Encode(authority_));
}

void EgressLink::AddWay(const EgressWay& way, UniqueFd fd) {
  Send(egress_wire::Encode(egress_wire::Way{way}), fd.get());
  ways_[way] = std::move(fd);
}

bool EgressLink::Sync(uint64_t number) {
  if (closed_) return false;
  Send(egress_wire::Encode(egress_wire::Sync{number}));
  return static_cast<bool>(socket_);
}

std::vector<EgressWay> EgressLink::WaysOf(const egress::NetworkPolicy& policy) {
  using Kind = EgressWay::Kind;
  std::vector<EgressWay> ways = {{Kind::kProxy, cell::kProxyPort},
                                 {Kind::kNames, cell::kResolverPort},
                                 {Kind::kNameStreams, cell::kResolverPort},
                                 {Kind::kSocketTable},
                                 {Kind::kIdentities}};
  std::set<uint16_t> ports;
  for (const egress::Rule& rule : policy.rules) {
    for (const egress::Endpoint& endpoint : rule.endpoints) {
      const bool every = IsPublic(endpoint);
      const auto& named = every ? kUsualPorts : endpoint.ports;
      ports.insert(named.begin(), named.end());
    }
  }
  for (const uint16_t port : ports) {
    // Clients of the proxy's and the name server's port are served there.
    if (port == cell::kProxyPort || port == cell::kResolverPort) continue;
    if (ways.size() < cell::kMaxEgressWays) ways.push_back({Kind::kPort, port});
  }
  return ways;
}

// A broker that takes no messages is as good as gone.
void EgressLink::Send(const std::string& bytes, int fd) {
  if (!socket_) return;
  const std::vector<int> fds = fd < 0 ? std::vector<int>() : std::vector<int>{fd};
  if (!SendMessage(socket_.get(), bytes, fds, MSG_DONTWAIT).ok()) ConnectLater();
}

void EgressLink::OnReadable() {
  const Result<Message> message = ReceiveMessage(socket_.get(), MSG_DONTWAIT);
  if (!message.ok()) {
    if (message.status().code() != Code::kResourceExhausted) ConnectLater();
    return;
  }
  egress_wire::Record record;
  egress_wire::Loaded loaded;
  egress_wire::Synced synced;
  egress_wire::Placeholders placeholders;
  egress_wire::Traffic traffic;
  if (egress_wire::Decode(message->bytes, &record).ok()) {
    events_.on_record(record);
  } else if (egress_wire::Decode(message->bytes, &loaded).ok()) {
    events_.on_loaded(loaded.revision);
  } else if (egress_wire::Decode(message->bytes, &synced).ok()) {
    events_.on_synced(synced.number);
  } else if (egress_wire::Decode(message->bytes, &placeholders).ok()) {
    events_.on_placeholders(placeholders);
  } else if (egress_wire::Decode(message->bytes, &traffic).ok()) {
    OnTraffic(traffic);
  }
}

void EgressLink::OnTraffic(const egress_wire::Traffic& now) {
  const egress_wire::Traffic before = std::exchange(traffic_, now);
  events_.on_traffic({.up = now.up - std::min(before.up, now.up),
                      .down = now.down - std::min(before.down, now.down),
                      .open = now.open});
}

void EgressLink::ConnectLater() {
  if (closed_) return Drop();
  if (socket_) loop_->Forget(group_);
  socket_.reset();
  OnTraffic({});  // the next broker counts from 0
  if (timer_ != EventLoop::kNoTimer) return;
  timer_ = loop_->At(Clock::now() + kRetry, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self || self->closed_) return;
    self->timer_ = EventLoop::kNoTimer;
    if (!self->Connect().ok()) self->ConnectLater();
  });
}

// The broker closes when nothing of the cell is left.
void EgressLink::Close() {
  if (std::exchange(closed_, true)) return;
  ways_.clear();
  loop_->Cancel(std::exchange(timer_, EventLoop::kNoTimer));
  if (!socket_) return;
  shutdown(socket_.get(), SHUT_WR);
  timer_ = loop_->At(Clock::now() + kLastRecords, [self = shared_from_this()] { self->Drop(); });
}

void EgressLink::Drop() {
  loop_->Cancel(std::exchange(timer_, EventLoop::kNoTimer));
  if (socket_) loop_->Forget(group_);
  socket_.reset();
}

}  // namespace odyssey::supervisor
