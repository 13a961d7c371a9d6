#include "ctl/session/event_feed.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "common/base/status.h"
#include "odyssey/agent/v1/session.stub.h"

namespace odyssey::ctl {
namespace {

constexpr std::chrono::milliseconds kRetryEvery{100};

// The daemon went away; the session itself did not refuse.
bool IsTransient(const Status& status) {
  return status.code() == Code::kUnavailable || status.code() == Code::kCancelled;
}

void Add(int event_fd) {
  const uint64_t one = 1;
  ODY_CHECK(write(event_fd, &one, sizeof(one)) == sizeof(one));
}

}  // namespace

EventFeed::EventFeed(const Locations& locations, std::string session_id, uint64_t after,
                     bool follow)
    : locations_(locations),
      session_id_(std::move(session_id)),
      follow_(follow),
      after_(after),
      ready_(eventfd(0, EFD_CLOEXEC)),
      stop_(eventfd(0, EFD_CLOEXEC)) {
  ODY_CHECK(ready_ && stop_);
  thread_ = std::thread([this] { Loop(); });
}

EventFeed::~EventFeed() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  Add(stop_.get());
  changed_.notify_all();
  thread_.join();
}

EventFeed::Item EventFeed::Take() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return !queue_.empty(); });
  Item item = std::move(queue_.front());
  queue_.pop_front();
  if (queue_.empty()) {
    uint64_t count = 0;
    ODY_CHECK(read(ready_.get(), &count, sizeof(count)) == sizeof(count));
  }
  changed_.notify_all();
  return item;
}

void EventFeed::Push(Item item) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return queue_.size() < kMaxQueued || stopping_; });
  if (stopping_) return;
  if (queue_.empty()) Add(ready_.get());
  queue_.push_back(std::move(item));
  changed_.notify_all();
}

Status EventFeed::Subscribe(const Client& client) {
  agent::v1::SubscribeRequest request;
  request.set_session_id(session_id_);
  request.set_after_sequence(after_);
  request.set_follow(follow_);
  const agent::v1::SessionServiceStub stub(client.channel());
  auto stream = stub.Subscribe({.cancel_fd = stop_.get()}, request);
  agent::v1::Event event;
  while (stream.Read(&event)) {
    if (tries_ > 0) Push({.notice = "connected again"});
    tries_ = 0;
    after_ = event.sequence();
    Push({.event = std::move(event)});
  }
  return stream.Finish();
}

bool EventFeed::WaitToReconnect() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait_for(lock, kRetryEvery, [this] { return stopping_; });
  return !stopping_ && tries_ * kRetryEvery.count() < kReconnectWithinMs;
}

void EventFeed::Loop() noexcept {
  const std::string what = "follow session " + session_id_;
  for (;;) {
    Failure failure;
    const Result<Client> client = Client::Connect(Daemon::kAgentd, locations_);
    if (client.ok()) {
      const Status status = Subscribe(*client);
      if (status.ok() && !follow_) return Push({.ended = true});
      failure = client->Explain(what, status);
      // A stream that ends in good order while it should follow: agentd is stopping.
      if (!status.ok() && !IsTransient(status)) return Push({.ended = true, .failure = failure});
    } else {
      failure = ExplainConnect(what, client.status());
    }
    if (!follow_) return Push({.ended = true, .failure = failure});
    if (tries_++ == 0) {
      Push({.notice = "connection to agentd lost; connecting again", .lost = true});
    }
    if (!WaitToReconnect()) return Push({.ended = true, .failure = failure});
  }
}

}  // namespace odyssey::ctl
