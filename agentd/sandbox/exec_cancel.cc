#include "agentd/sandbox/exec_cancel.h"

#include <chrono>
#include <utility>

namespace odyssey::sandbox {
namespace {

namespace pb = ::odyssey::supervisor::v1;

// The supervisor ends the cell of a command that it cannot kill; this is longer than that takes.
constexpr std::chrono::seconds kPatience{30};

std::chrono::system_clock::time_point Overdue() {
  return std::chrono::system_clock::now() + kPatience;
}

}  // namespace

void ExecCancel::OnStarted(const std::string& exec_id) {
  std::lock_guard lock(mutex_);
  exec_id_ = exec_id;
  if (requested_) Send();
}

void ExecCancel::Request() {
  std::lock_guard lock(mutex_);
  if (std::exchange(requested_, true)) return;
  overdue_.Set(Overdue(), [exec = exec_](bool passed) {
    if (passed) exec->TryCancel();
  });
  if (!exec_id_.empty()) Send();
}

// Caller holds mutex_. What the answer is does not matter: Exec ends, or is overdue.
void ExecCancel::Send() {
  if (caller_.joinable()) return;
  context_.set_deadline(Overdue());
  caller_ = std::thread([this, exec_id = exec_id_] {
    pb::CancelExecRequest request;
    pb::CancelExecResponse response;
    request.set_exec_id(exec_id);
    (void)stub_->CancelExec(&context_, request, &response);
  });
}

ExecCancel::~ExecCancel() {
  if (!caller_.joinable()) return;
  context_.TryCancel();
  caller_.join();
}

}  // namespace odyssey::sandbox
