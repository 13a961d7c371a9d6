#ifndef ODYSSEY_HTTP_FRONT_SIGN_IN_H_
#define ODYSSEY_HTTP_FRONT_SIGN_IN_H_

// A browser's way in: the link of `odyssey-ctl web` has its secret behind '#', which no browser
// sends; the console's script posts it, and gets a token as a cookie that no script reads.

#include <memory>

#include "http/front/exchange.h"
#include "odyssey/agent/v1/token.pb.h"

namespace odyssey::front {

class SignInExchange final : public Exchange {
 public:
  using Exchange::Exchange;

  void Start() override;

 private:
  void OnProgress() override;

  agent::v1::ExchangeLinkResponse answer_;
  std::shared_ptr<upstream::AgentCall> call_;
};

// Revokes the token of the request, and removes the cookie.
class SignOutExchange final : public Exchange {
 public:
  using Exchange::Exchange;

  void Start() override;

 private:
  void OnProgress() override;

  std::shared_ptr<upstream::AgentCall> call_;
};

}  // namespace odyssey::front

#endif  // ODYSSEY_HTTP_FRONT_SIGN_IN_H_
