#ifndef ODYSSEY_HTTP_FRONT_RUN_EXCHANGE_H_
#define ODYSSEY_HTTP_FRONT_RUN_EXCHANGE_H_

#include <memory>

#include "http/front/exchange.h"
#include "odyssey/agent/v1/session.pb.h"

namespace odyssey::front {

// Submits a turn; of run-sync, waits for its end too. A client that goes does not end the turn.
class RunExchange final : public Exchange {
 public:
  using Exchange::Exchange;

  void Start() override;

 private:
  void OnProgress() override;
  void OnSubmitted();
  // True: the turn has ended, and the answer is given.
  bool Take(const agent::v1::Event& event);

  std::shared_ptr<upstream::AgentCall> call_;
  bool waits_ = false;  // the call is Subscribe
  agent::v1::SubmitTurnResponse submitted_;
};

}  // namespace odyssey::front

#endif  // ODYSSEY_HTTP_FRONT_RUN_EXCHANGE_H_
