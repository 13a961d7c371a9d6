#include "agentd/session/call_question.h"

#include <memory>
#include <utility>

#include "agentd/base/clock.h"
#include "common/message/message_utf8.h"

namespace odyssey::session {

bool CallQuestion::Open(agent::v1::PermissionRequested request, std::chrono::milliseconds timeout,
                        std::function<void()> wake) {
  request_ = std::move(request);
  if (!runtime_->approvals->CountAsk(session_id_, runtime_->clock->Now())) return false;
  const auto promise = std::make_shared<std::promise<approval::Answer>>();
  answer_ = promise->get_future();
  approval::Question question;
  question.set_session_id(session_id_);
  question.set_created_at(agent::FormatTime(runtime_->clock->Now()));
  *question.mutable_request() = request_;
  runtime_->approvals->Add(
      std::move(question),
      [promise, wake = std::move(wake)](const approval::Answer& answer) {
        promise->set_value(answer);
        wake();
      },
      timeout);
  return true;
}

std::optional<approval::Answer> CallQuestion::Take() {
  if (answer_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return std::nullopt;
  return answer_.get();
}

std::optional<approval::Answer> CallQuestion::Drop() {
  if (!runtime_->approvals->Drop(request_.request_id())) return answer_.get();
  answer_ = {};
  return std::nullopt;
}

Status CallQuestion::Record(const approval::Answer& answer) const {
  supervisor::v1::RecordApprovalRequest record;
  record.set_request_id(request_.request_id());
  record.set_session_id(session_id_);
  record.set_turn_id(request_.turn_id());
  record.set_tool_name(request_.tool_name());
  record.set_scope(request_.scope());
  record.set_digest(request_.digest());
  record.set_decision(std::string(approval::DecisionName(answer.decision)));
  record.set_by_uid(answer.by_uid);
  record.set_by(answer.by);
  record.set_note(answer.note);
  message::SanitizeStrings(&record);
  const Status recorded = runtime_->sandbox->RecordApproval(record);
  if (!recorded.ok() && answer.decision == approval::Decision::kAllowAlways) {
    runtime_->approvals->Forget(session_id_, request_.scope());
  }
  if (runtime_->on_answer) runtime_->on_answer(session_id_, request_, answer, recorded);
  return recorded;
}

}  // namespace odyssey::session
