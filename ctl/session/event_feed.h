#ifndef ODYSSEY_CTL_SESSION_EVENT_FEED_H_
#define ODYSSEY_CTL_SESSION_EVENT_FEED_H_

// The events of a session after a sequence number, as a queue that a poll loop can wait for. A
// thread reads the subscription, and makes it again from the last event seen when agentd goes away.

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "common/os/unique_fd.h"
#include "ctl/base/locations.h"
#include "ctl/client/client.h"
#include "odyssey/agent/v1/event.pb.h"

namespace odyssey::ctl {

class EventFeed final {
 public:
  static constexpr size_t kMaxQueued = 1024;  // then the stream waits: back-pressure
  static constexpr int kReconnectWithinMs = 30'000;

  // `follow`: live events too, over any number of reconnects; otherwise it ends after the recorded
  // ones. Keeps no reference to its arguments.
  EventFeed(const Locations& locations, std::string session_id, uint64_t after, bool follow);
  ~EventFeed();
  EventFeed(const EventFeed&) = delete;
  EventFeed& operator=(const EventFeed&) = delete;

  struct Item {
    std::optional<agent::v1::Event> event;
    std::string notice;              // the connection was lost, or is back
    bool lost = false;               // with a notice: which of the two
    bool ended = false;              // nothing follows
    std::optional<Failure> failure;  // why it ended, if not in good order
  };
  // Readable while Take() has something.
  int fd() const { return ready_.get(); }
  // Waits for the next item.
  Item Take();

 private:
  void Loop() noexcept;
  // One subscription to its end.
  Status Subscribe(const Client& client);
  // Waits before another try; false if there is to be none.
  bool WaitToReconnect();
  void Push(Item item);

  const Locations locations_;
  const std::string session_id_;
  const bool follow_;
  uint64_t after_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> queue_;
  bool stopping_ = false;
  int tries_ = 0;
  UniqueFd ready_;  // eventfd
  UniqueFd stop_;   // eventfd: cancels the subscription
  std::thread thread_;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_SESSION_EVENT_FEED_H_
