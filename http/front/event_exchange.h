#ifndef ODYSSEY_HTTP_FRONT_EVENT_EXCHANGE_H_
#define ODYSSEY_HTTP_FRONT_EVENT_EXCHANGE_H_

// Streams of events (text/event-stream).

#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>

#include "http/front/exchange.h"

namespace odyssey::front {

// A stream that lives as long as its client and its call do, with a comment now and then.
class FollowExchange : public Exchange {
 public:
  FollowExchange(Request request, Backend* backend, Responder* responder);

  void OnWritable() override { Forward(); }

 protected:
  // Begins the answer. The call is open.
  void Follow(std::shared_ptr<upstream::AgentCall> call);
  void OnProgress() override { Forward(); }
  // The next frame of the call; "": there is none now.
  virtual std::string NextFrame(upstream::AgentCall* call) = 0;

 private:
  void Forward();
  void KeepAlive();

  std::shared_ptr<upstream::AgentCall> call_;
  boost::asio::steady_timer timer_;
};

class EventExchange final : public FollowExchange {
 public:
  using FollowExchange::FollowExchange;

  // Asks for the session first: what is wrong is an answer of its own then, and the number of the
  // last event is where a client that says nothing begins.
  void Start() override;

 private:
  void OnProgress() override;
  void Subscribe(uint64_t last_sequence);
  std::string NextFrame(upstream::AgentCall* call) override;

  std::shared_ptr<upstream::AgentCall> session_;  // the first call
  uint64_t last_sequence_ = 0;
};

class ApprovalExchange final : public FollowExchange {
 public:
  using FollowExchange::FollowExchange;

  // As EventExchange: asks for the list first.
  void Start() override;

 private:
  void OnProgress() override;
  std::string NextFrame(upstream::AgentCall* call) override;

  std::shared_ptr<upstream::AgentCall> list_;
};

}  // namespace odyssey::front

#endif  // ODYSSEY_HTTP_FRONT_EVENT_EXCHANGE_H_
