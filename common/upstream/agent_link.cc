#include "common/upstream/agent_link.h"

#include <fcntl.h>

#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>
#include <vector>

namespace odyssey::upstream {
namespace {

namespace asio = boost::asio;
using Error = boost::system::error_code;
using Descriptor = asio::posix::stream_descriptor;

// What a client that is slow costs here, beside one message.
constexpr int32_t kStreamWindowBytes = 64 * 1024;

std::string BearerOf(const std::string& token) { return token.empty() ? "" : "Bearer " + token; }

}  // namespace

AgentCall::AgentCall(AgentLink* link, std::string path, const std::string& token, int deadline_ms,
                     OnProgress on_progress)
    : link_(link),
      path_(std::move(path)),
      on_progress_(std::move(on_progress)),
      call_(link->channel_, path_, {.deadline_ms = deadline_ms, .authorization = BearerOf(token)}) {
  link_->calls_.insert(this);
  link_->Schedule();
}

AgentCall::~AgentCall() {
  link_->calls_.erase(this);
  link_->Schedule();
}

void AgentCall::Send(const google::protobuf::MessageLite& message) {
  call_.Send(message);
  wants_room_ = true;
  link_->Schedule();
}

void AgentCall::CloseSend() {
  call_.CloseSend();
  link_->Schedule();
}

bool AgentCall::Receive(google::protobuf::MessageLite* message) {
  const bool received = call_.Receive(message);
  link_->Schedule();  // the server may send more now
  return received;
}

AgentLink::AgentLink(asio::io_context* loop, std::string socket_path)
    : loop_(loop),
      channel_(std::make_shared<rpc::H2Channel>(
          std::move(socket_path), rpc::H2Channel::kConnectWithin, kStreamWindowBytes)),
      timer_(*loop) {}

AgentLink::~AgentLink() { ODY_CHECK(calls_.empty()); }

std::shared_ptr<AgentCall> AgentLink::Open(std::string path, const std::string& token,
                                           int deadline_ms, AgentCall::OnProgress on_progress) {
  return std::make_shared<AgentCall>(this, std::move(path), token, deadline_ms,
                                     std::move(on_progress));
}

void AgentLink::Close() {
  closed_ = true;
  descriptor_.reset();
  timer_.cancel();
}

void AgentLink::Schedule() {
  if (closed_ || std::exchange(scheduled_, true)) return;
  asio::post(*loop_, [this] {
    scheduled_ = false;
    Settle();
    Tell();
  });
}

void AgentLink::Settle() {
  if (closed_) return;
  const pollfd polled = channel_->Polled();
  if (descriptor_ && (polled.fd < 0 || channel_->connection() != watched_)) {
    descriptor_.reset();
    reading_ = writing_ = false;
  }
  if (polled.fd >= 0 && !descriptor_) {
    const int duplicate = fcntl(polled.fd, F_DUPFD_CLOEXEC, 0);
    ODY_CHECK(duplicate >= 0);
    descriptor_.emplace(*loop_, duplicate);
    watched_ = channel_->connection();
  }
  const auto pump = [this, of = watched_](bool* waiting) {
    return [this, of, waiting](Error error) {
      if (error || of != watched_) return;
      *waiting = false;
      Pump();
    };
  };
  if (descriptor_ && !std::exchange(reading_, true)) {
    descriptor_->async_wait(Descriptor::wait_read, pump(&reading_));
  }
  if (descriptor_ && (polled.events & POLLOUT) != 0 && !std::exchange(writing_, true)) {
    descriptor_->async_wait(Descriptor::wait_write, pump(&writing_));
  }
  const int timeout_ms = channel_->timeout_ms();
  if (timeout_ms < 0) {
    timer_.cancel();
    return;
  }
  timer_.expires_after(std::chrono::milliseconds(timeout_ms));
  timer_.async_wait([this](Error error) {
    if (!error) Pump();
  });
}

void AgentLink::Pump() {
  channel_->Pump();
  Settle();
  Tell();
}

// What is told may end calls and open others.
void AgentLink::Tell() {
  std::vector<std::shared_ptr<AgentCall>> told;
  for (AgentCall* const call : calls_) {
    const bool has_room = call->wants_room_ && call->call_.sent();
    if (has_room) call->wants_room_ = false;
    const bool ends = call->call_.done() && !std::exchange(call->told_end_, call->call_.done());
    if (!has_room && !ends && !call->call_.HasMessage()) continue;
    if (auto shared = call->weak_from_this().lock()) told.push_back(std::move(shared));
  }
  for (const std::shared_ptr<AgentCall>& call : told) call->on_progress_();
}

}  // namespace odyssey::upstream
