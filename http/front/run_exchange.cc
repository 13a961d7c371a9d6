#include "http/front/run_exchange.h"

#include <utility>

#include "common/base/refusal.h"
#include "http/shape/error_body.h"
#include "http/shape/original.h"
#include "http/shape/public_id.h"

namespace odyssey::front {
namespace {

namespace pb = agent::v1;

constexpr char kSubscribe[] = "/odyssey.agent.v1.SessionService/Subscribe";

}  // namespace

void RunExchange::Start() {
  pb::SubmitTurnRequest request;
  if (!Fill(&request)) return;
  call_ =
      Call(api::CallPath(*api::MethodOf(*request_.route)), request_.route->deadline_ms, request);
}

void RunExchange::OnProgress() {
  if (!waits_) {
    while (call_->Receive(&submitted_)) {
    }
    if (!call_->ended()) return;
    if (!call_->status().ok()) return Fail(call_->status());
    return OnSubmitted();
  }
  pb::Event event;
  while (call_->Receive(&event)) {
    if (Take(event)) return;
  }
  if (!call_->ended()) return;
  const Status status = call_->status();
  const std::string turn = "turn " + shape::PublicId(submitted_.turn_id());
  Fail(WithMessage(turn + ": its end was not seen: " + status.message() + "; GET /sessions/" +
                       shape::PublicId(SessionId()) + "/turns shows it",
                   status.ok() ? Unavailable("the stream ended") : status));
}

void RunExchange::OnSubmitted() {
  if (request_.route->act == api::Act::kRun) {
    return ReplyJson(shape::WriteSubmitted(submitted_, SessionId()));
  }
  waits_ = true;
  pb::SubscribeRequest request;
  request.set_session_id(SessionId());
  request.set_after_sequence(submitted_.after_sequence());
  request.set_follow(true);
  call_ = Call(kSubscribe, 0, request);
}

bool RunExchange::Take(const pb::Event& event) {
  const std::string& turn = submitted_.turn_id();
  if (event.has_turn_completed() && event.turn_completed().turn_id() == turn) {
    ReplyJson(shape::WriteRunResult(SessionId(), turn, event.turn_completed().message()));
    return true;
  }
  if (event.has_turn_failed() && event.turn_failed().turn_id() == turn) {
    // The model, a tool or the host failed, and not this request.
    const bool interrupted = event.turn_failed().interrupted();
    Fail({interrupted ? Code::kUnavailable : Code::kInternal,
          "turn " + shape::PublicId(turn) + ": " + event.turn_failed().message()});
    return true;
  }
  if (event.has_turn_cancelled() && event.turn_cancelled().turn_id() == turn) {
    Fail(Cancelled("turn " + shape::PublicId(turn) + ": it was cancelled"));
    return true;
  }
  return false;
}

}  // namespace odyssey::front
