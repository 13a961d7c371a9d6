#ifndef ODYSSEY_HTTP_FRONT_EXEC_EXCHANGE_H_
#define ODYSSEY_HTTP_FRONT_EXEC_EXCHANGE_H_

#include <memory>
#include <string>

#include "http/front/exchange.h"
#include "odyssey/supervisor/v1/supervisor.pb.h"

namespace odyssey::front {

// An operator's command in a session's cell. A client that goes ends it.
class ExecExchange final : public Exchange {
 public:
  using Exchange::Exchange;

  void Start() override;

 private:
  void OnProgress() override;
  std::string Answer() const;

  std::shared_ptr<upstream::AgentCall> call_;
  std::string exec_id_, stdout_, stderr_;
  supervisor::v1::ExecOutcome outcome_;
  std::vector<supervisor::v1::Denial> denials_;
};

}  // namespace odyssey::front

#endif  // ODYSSEY_HTTP_FRONT_EXEC_EXCHANGE_H_
