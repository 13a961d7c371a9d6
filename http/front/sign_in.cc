#include "http/front/sign_in.h"

#include <utility>

#include "http/head/access.h"
#include "http/shape/message_body.h"

namespace odyssey::front {
namespace {

namespace pb = agent::v1;

constexpr int kDeadlineMs = 10'000;
constexpr char kExchangeLink[] = "/odyssey.agent.v1.TokenService/ExchangeLink";
constexpr char kRevokeToken[] = "/odyssey.agent.v1.TokenService/RevokeToken";

// The token itself ends earlier if it is revoked.
constexpr int kCookieSeconds = 12 * 3600;

std::string CookieOf(const std::string& value, int seconds) {
  return std::string(head::kCookieName) + "=" + value +
         "; Path=/; HttpOnly; SameSite=Strict; Max-Age=" + std::to_string(seconds);
}

}  // namespace

void SignInExchange::Start() {
  pb::ExchangeLinkRequest request;
  if (!Fill(&request)) return;
  call_ = Call(kExchangeLink, kDeadlineMs, request);
}

void SignInExchange::OnProgress() {
  while (call_->Receive(&answer_)) {
  }
  if (!call_->ended()) return;
  if (!call_->status().ok()) return Fail(call_->status());
  const shape::Json body = {{"expires_at", answer_.token().expires_at()}};
  responder_->Reply(200, "application/json", body.dump() + "\n",
                    {{"Set-Cookie", CookieOf(answer_.secret(), kCookieSeconds)}});
}

void SignOutExchange::Start() { call_ = Call(kRevokeToken, kDeadlineMs, pb::RevokeTokenRequest()); }

void SignOutExchange::OnProgress() {
  pb::RevokeTokenResponse answer;
  while (call_->Receive(&answer)) {
  }
  if (!call_->ended()) return;
  if (!call_->status().ok()) return Fail(call_->status());
  responder_->Reply(204, "", "", {{"Set-Cookie", CookieOf("", 0)}});
}

}  // namespace odyssey::front
