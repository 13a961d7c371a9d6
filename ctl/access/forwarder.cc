#include "ctl/access/forwarder.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "ctl/base/exit_code.h"
#include "ctl/base/signal_fd.h"
#include "ctl/cell/standing_text.h"

namespace odyssey::ctl {
namespace {

constexpr size_t kMostConnections = 128;  // at a time; each has processes in the cell
constexpr std::chrono::milliseconds kBetweenLooks{2000};
constexpr char kDescribe[] = "/odyssey.supervisor.v1.Supervisor/DescribeCell";

bool IsOver(supervisor::v1::CellPhase phase) {
  return phase == supervisor::v1::CELL_PHASE_STOPPED ||
         phase == supervisor::v1::CELL_PHASE_QUARANTINED ||
         phase == supervisor::v1::CELL_PHASE_ENDED;
}

}  // namespace

Forwarder::Forwarder(const Console& console, const Client& client, std::string cell_id,
                     std::vector<uid_t> allowed)
    : console_(console),
      client_(client),
      stub_(client.channel()),
      cell_id_(std::move(cell_id)),
      allowed_(std::move(allowed)) {}

int Forwarder::Run(const std::vector<Listener>& listeners) {
  const UniqueFd signals = MakeSignalFd({SIGINT, SIGTERM, SIGHUP});
  while (!ended_) {
    WatchCell();
    const bool room = connections_.size() < kMostConnections;
    std::vector<pollfd> polled = {client_.channel()->Polled(), {signals.get(), POLLIN, 0}};
    for (const Listener& listener : listeners)
      polled.push_back({room ? listener.fd.get() : -1, POLLIN, 0});
    for (const Relayed& connection : connections_) polled.push_back(connection.Polled());
    const int most = static_cast<int>(kBetweenLooks.count());
    const int call = client_.channel()->timeout_ms();
    poll(polled.data(), polled.size(), call < 0 ? most : std::min(call, most));
    client_.channel()->Pump();
    if (TakeSignal(signals.get()) != 0) return kExitOk;
    auto ready = polled.begin() + 2 + static_cast<ptrdiff_t>(listeners.size());
    for (auto it = connections_.begin(); it != connections_.end();) {
      it->Go((ready++)->revents);
      if (it->over()) Conclude(*it);
      it = it->over() ? connections_.erase(it) : std::next(it);
    }
    for (size_t i = 0; i < listeners.size(); ++i) {
      if (polled[2 + i].revents != 0) Accept(listeners[i]);
    }
  }
  return kExitFailed;
}

// From the loopback any process of the host could connect, one of a cell in the host's network too.
bool Forwarder::MayConnect(const Listener& listener, int connection) const {
  if (!listener.loopback || allowed_.empty()) return true;
  const std::optional<uid_t> uid = UidOfPeer(connection);
  return uid && std::count(allowed_.begin(), allowed_.end(), *uid) != 0;
}

void Forwarder::Accept(const Listener& listener) {
  UniqueFd socket(accept4(listener.fd.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) return;  // it has gone
  if (!MayConnect(listener, socket.get())) {
    return Say({"forward " + listener.text, "refused a connection of another user",
                "--any-user admits every user of this host."});
  }
  connections_.emplace_back(std::move(socket), stub_.Exec({}), cell_id_, listener.remote);
}

void Forwarder::Conclude(const Relayed& connection) {
  const Status& why = connection.why();
  if (why.ok()) {
    said_.clear();
  } else if (connection.refused()) {
    Say(client_.Explain("forward", why));
    ended_ = why.code() == Code::kNotFound || why.code() == Code::kUnavailable;
  } else {
    Say({"forward", why.message(), ""});
  }
}

// What has ended the cell, with no connection that would say so.
void Forwarder::WatchCell() {
  if (!watch_ && Clock::now() >= next_look_) {
    supervisor::v1::DescribeCellRequest request;
    request.set_cell_id(cell_id_);
    seen_.Clear();
    watch_ =
        rpc::StartStream<supervisor::v1::DescribeCellRequest, supervisor::v1::DescribeCellResponse>(
            client_.channel(), kDescribe, {kQuickCallMs}, request);
  }
  if (!watch_) return;
  if (watch_->call()->HasMessage()) (void)watch_->call()->Receive(&seen_);
  if (!watch_->call()->done()) return;
  const Status status = watch_->call()->status();
  watch_.reset();
  next_look_ = Clock::now() + kBetweenLooks;
  if (!status.ok()) {
    ended_ = status.code() == Code::kNotFound || status.code() == Code::kUnavailable;
    if (ended_) Say(client_.Explain("forward", status));
  } else if (const auto& standing = seen_.cell().standing(); IsOver(standing.phase())) {
    ended_ = true;
    Say({"forward", "cell " + cell_id_ + ": " + StandingText(standing), ""});
  }
}

void Forwarder::Say(const Failure& failure) {
  const std::string text = FormatFailure(failure);
  if (std::exchange(said_, text) != text) console_.Fail(failure);
}

}  // namespace odyssey::ctl
