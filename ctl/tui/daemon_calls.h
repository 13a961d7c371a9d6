#ifndef ODYSSEY_CTL_TUI_DAEMON_CALLS_H_
#define ODYSSEY_CTL_TUI_DAEMON_CALLS_H_

// Calls of the daemons that a poll loop waits for: none blocks, and what they answer is given to
// functions by Deliver.

#include <poll.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/rpc/stub.h"
#include "ctl/base/locations.h"
#include "ctl/client/client.h"

namespace odyssey::ctl {

class DaemonCalls final {
 public:
  explicit DaemonCalls(const Locations& locations) : locations_(locations) {}
  DaemonCalls(const DaemonCalls&) = delete;
  DaemonCalls& operator=(const DaemonCalls&) = delete;

  // A connection that is there, or is made now.
  Result<Client> Reach(Daemon daemon);

  // `message` is called for each answer, `end` once, after it. Both may add calls. What is returned
  // is there until `end`.
  template <typename Request, typename Response>
  rpc::H2Call* Add(rpc::Stream<Request, Response> stream,
                   std::function<void(const Response&)> message,
                   std::function<void(const Status&)> end) {
    pending_.push_back(std::make_unique<Typed<Request, Response>>(
        std::move(stream), std::move(message), std::move(end)));
    return &pending_.back()->call();
  }
  // Of one answer: `done` has it where the status is OK.
  template <typename Request, typename Response>
  void AddUnary(rpc::Stream<Request, Response> stream,
                std::function<void(const Status&, const Response&)> done) {
    auto answer = std::make_shared<Response>();
    Add<Request, Response>(
        std::move(stream), [answer](const Response& response) { *answer = response; },
        [answer, done = std::move(done)](const Status& status) { done(status, *answer); });
  }

  // What a poll loop waits for, and for how long at most (-1: without end).
  void AppendPolled(std::vector<pollfd>* polled) const;
  int TimeoutMs() const;
  void Deliver();

 private:
  class Pending {
   public:
    virtual ~Pending() = default;
    virtual rpc::H2Call& call() const = 0;
    // Gives what has come; true: it is over.
    virtual bool Step() = 0;
  };
  template <typename Request, typename Response>
  class Typed final : public Pending {
   public:
    Typed(rpc::Stream<Request, Response> stream, std::function<void(const Response&)> message,
          std::function<void(const Status&)> end)
        : stream_(std::move(stream)), message_(std::move(message)), end_(std::move(end)) {}
    rpc::H2Call& call() const override { return *stream_.call(); }
    bool Step() override {
      Response response;
      while (call().Receive(&response)) message_(response);
      if (!call().done() || call().HasMessage()) return false;
      end_(call().status());
      return true;
    }

   private:
    rpc::Stream<Request, Response> stream_;
    std::function<void(const Response&)> message_;
    std::function<void(const Status&)> end_;
  };

  std::vector<rpc::H2Channel*> Channels() const;

  const Locations& locations_;
  std::optional<Client> agentd_, supervisor_;
  std::vector<std::unique_ptr<Pending>> pending_;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_TUI_DAEMON_CALLS_H_
