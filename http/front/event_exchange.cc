#include "http/front/event_exchange.h"

#include <chrono>
#include <utility>

#include "http/shape/error_body.h"
#include "http/shape/event_message.h"
#include "http/shape/message_body.h"
#include "http/shape/public_id.h"
#include "odyssey/agent/v1/approval.pb.h"
#include "odyssey/agent/v1/session.pb.h"

namespace odyssey::front {
namespace {

namespace pb = agent::v1;

constexpr std::chrono::seconds kKeepAlive{15};
constexpr char kGetSession[] = "/odyssey.agent.v1.SessionService/GetSession";
constexpr char kSubscribe[] = "/odyssey.agent.v1.SessionService/Subscribe";
constexpr char kListApprovals[] = "/odyssey.agent.v1.ApprovalService/ListApprovals";
constexpr char kWatchApprovals[] = "/odyssey.agent.v1.ApprovalService/WatchApprovals";

// Why a stream ends, for a client that does not connect again.
std::string EndFrame(const Status& status) {
  std::string body = shape::ErrorBody(status);
  body.pop_back();  // the line feed
  return "event: end\n" + shape::EventFrame("", body);
}

}  // namespace

FollowExchange::FollowExchange(Request request, Backend* backend, Responder* responder)
    : Exchange(std::move(request), backend, responder), timer_(*backend->loop) {}

void FollowExchange::Follow(std::shared_ptr<upstream::AgentCall> call) {
  call_ = std::move(call);
  // X-Accel-Buffering: a proxy (nginx) would hold events back.
  responder_->BeginStream("text/event-stream", {{"X-Accel-Buffering", "no"}});
  responder_->Write(shape::kKeepAliveFrame);
  KeepAlive();
}

void FollowExchange::KeepAlive() {
  timer_.expires_after(kKeepAlive);
  timer_.async_wait([weak = weak_from_this()](boost::system::error_code error) {
    const auto self = std::static_pointer_cast<FollowExchange>(weak.lock());
    if (error || !self) return;
    // A client that takes nothing is known to be slow.
    if (self->responder_->pending_bytes() == 0) self->responder_->Write(shape::kKeepAliveFrame);
    self->KeepAlive();
  });
}

void FollowExchange::Forward() {
  if (!call_) return;
  while (responder_->pending_bytes() < kMaxPendingBytes) {
    const std::string frame = NextFrame(call_.get());
    if (frame.empty()) break;
    responder_->Write(frame);
  }
  if (responder_->pending_bytes() >= kMaxPendingBytes || !call_->ended()) return;
  if (!call_->status().ok()) responder_->Write(EndFrame(call_->status()));
  call_.reset();
  responder_->EndStream();
}

void EventExchange::Start() {
  pb::GetSessionRequest request;
  request.set_session_id(SessionId());
  session_ = Call(kGetSession, api::Route().deadline_ms, request);
}

void EventExchange::OnProgress() {
  if (!session_) return FollowExchange::OnProgress();
  pb::GetSessionResponse answer;
  if (session_->Receive(&answer)) last_sequence_ = answer.session().last_sequence();
  if (!session_->ended()) return;
  const Status status = session_->status();
  session_.reset();
  if (!status.ok()) return Fail(status);
  Subscribe(last_sequence_);
}

void EventExchange::Subscribe(uint64_t last_sequence) {
  pb::SubscribeRequest request;
  request.set_follow(true);
  request.set_after_sequence(last_sequence);
  if (!Fill(&request)) return;
  // A browser that connects again sends the same target and this.
  if (!request_.last_event_id.empty()) {
    const Result<uint64_t> last = shape::ParseSequence("Last-Event-ID", request_.last_event_id);
    if (!last.ok()) return Fail(last.status());
    request.set_after_sequence(*last);
  }
  Follow(Call(kSubscribe, request_.route->deadline_ms, request));
}

std::string EventExchange::NextFrame(upstream::AgentCall* call) {
  pb::Event event;
  if (!call->Receive(&event)) return "";
  return *backend_->frames.Get(event.id(), [&event] {
    return shape::EventFrame(
        std::to_string(event.sequence()),
        shape::EventMessage(event).dump(-1, ' ', false, message::Json::error_handler_t::replace));
  });
}

void ApprovalExchange::Start() {
  pb::ListApprovalsRequest request;
  if (!Fill(&request)) return;
  list_ = Call(kListApprovals, api::Route().deadline_ms, request);
}

void ApprovalExchange::OnProgress() {
  if (!list_) return FollowExchange::OnProgress();
  pb::ListApprovalsResponse answer;
  while (list_->Receive(&answer)) {
  }
  if (!list_->ended()) return;
  const Status status = list_->status();
  list_.reset();
  if (!status.ok()) return Fail(status);
  pb::WatchApprovalsRequest request;
  if (!Fill(&request)) return;
  Follow(Call(kWatchApprovals, request_.route->deadline_ms, request));
}

std::string ApprovalExchange::NextFrame(upstream::AgentCall* call) {
  pb::Approval approval;
  if (!call->Receive(&approval)) return "";
  shape::MakePublic(&approval);
  return shape::EventFrame("", shape::WriteMessage(approval));
}

}  // namespace odyssey::front
