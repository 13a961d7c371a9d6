#ifndef ODYSSEY_HTTP_FRONT_TRANSFER_EXCHANGE_H_
#define ODYSSEY_HTTP_FRONT_TRANSFER_EXCHANGE_H_

// Answers that are a call's stream, and bodies that become one.

#include <google/protobuf/message.h>

#include <memory>
#include <string>

#include "http/front/exchange.h"

namespace odyssey::front {

// A JSON array of messages, or their bytes. It begins with the first message, so that what fails
// before is an answer of its own; what fails later cuts the answer.
class StreamExchange final : public Exchange {
 public:
  using Exchange::Exchange;

  void Start() override;
  void OnWritable() override { OnProgress(); }

 private:
  void OnProgress() override;
  void Begin();
  void Forward();

  std::unique_ptr<google::protobuf::Message> message_;
  std::shared_ptr<upstream::AgentCall> call_;
  bool began_ = false;
  bool is_first_ = true;
};

// Sends the body in parts, after a first message with what the query says.
class ImportExchange final : public Exchange {
 public:
  using Exchange::Exchange;

  void Start() override;

 private:
  void OnProgress() override;

  std::unique_ptr<google::protobuf::Message> answer_;
  std::shared_ptr<upstream::AgentCall> call_;
};

}  // namespace odyssey::front

#endif  // ODYSSEY_HTTP_FRONT_TRANSFER_EXCHANGE_H_
