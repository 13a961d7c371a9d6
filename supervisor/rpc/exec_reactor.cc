#include "supervisor/rpc/exec_reactor.h"

#include <sys/random.h>

#include <atomic>
#include <utility>

#include "common/rpc/status_map.h"
#include "supervisor/rpc/convert.h"

namespace odyssey::supervisor {
namespace {

uint64_t RandomBits() {
  uint64_t bits = 0;
  ODY_CHECK(getrandom(&bits, sizeof(bits), 0) == sizeof(bits));
  return bits;
}

// Counted from anywhere, so that no two of an audit log are the same.
std::string NextExecId() {
  static std::atomic<uint64_t> counter = RandomBits();
  char text[32];
  snprintf(text, sizeof(text), "exe_%016llx", static_cast<unsigned long long>(++counter));
  return text;
}

}  // namespace

ExecReactor::ExecReactor(Broker* broker) : broker_(broker) { StartRead(&request_); }

void ExecReactor::OnReadDone(bool ok) {
  std::shared_ptr<ExecSession> session;
  bool finished = false;
  {
    const std::lock_guard lock(mutex_);
    session = session_;
    finished = finished_;
  }
  if (finished) return;
  if (session == nullptr) {
    if (ok && request_.has_start()) {
      Start();
    } else {
      {
        const std::lock_guard lock(mutex_);
        finished_ = true;
      }
      Finish(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "message: the first must be start"));
    }
    return;
  }
  if (!ok) {
    session->CloseStdin();  // the client half-closed
    return;
  }
  const Status forwarded = Forward();
  if (!forwarded.ok()) Reject(forwarded);
}

void ExecReactor::Start() {
  auto spec = FromProto(request_.start());
  // The session may finish before Exec returns: from here on it may call us.
  {
    const std::lock_guard lock(mutex_);
    exec_id_ = NextExecId();
    response_.mutable_started()->set_exec_id(exec_id_);
    writing_ = true;
  }
  if (spec.ok()) spec->exec_id = exec_id_;
  auto session =
      spec.ok() ? broker_->Exec(*spec, this) : Result<std::shared_ptr<ExecSession>>(spec.status());
  if (!session.ok()) {
    {
      const std::lock_guard lock(mutex_);
      finished_ = true;
    }
    Finish(rpc::ToGrpc(session.status()));
    return;
  }
  bool cancelled = false;
  {
    const std::lock_guard lock(mutex_);
    const uint64_t run = (*session)->options().spec.run;
    if (run != 0) response_.mutable_started()->set_run_id(cell::RunName(run));
    session_ = *session;
    cancelled = cancelled_;
  }
  if (cancelled) (*session)->Cancel();
  StartWrite(&response_);
  StartRead(&request_);
}

Status ExecReactor::Forward() {
  ODY_RETURN_IF_ERROR(CheckFollowing(request_));
  switch (request_.message_case()) {
    case pb::ExecRequest::kStdin:
      if (!session_->options().open_stdin && !session_->options().spec.terminal) {
        return InvalidArgument("stdin: the command's is /dev/null; set start.open_stdin");
      }
      session_->WriteStdin(std::move(*request_.mutable_stdin()));
      return OkStatus();  // StdinTaken asks for the next message
    case pb::ExecRequest::kStdinEof:
      session_->CloseStdin();
      break;
    case pb::ExecRequest::kResize:
      session_->Resize(static_cast<uint16_t>(request_.resize().rows()),
                       static_cast<uint16_t>(request_.resize().columns()));
      break;
    case pb::ExecRequest::kSignal:
      session_->Signal(request_.signal());
      break;
    default:
      break;
  }
  StartRead(&request_);
  return OkStatus();
}

void ExecReactor::Reject(const Status& why) {
  {
    const std::lock_guard lock(mutex_);
    rejected_ = rpc::ToGrpc(why);
  }
  session_->Cancel();
}

void ExecReactor::StdinTaken() { StartRead(&request_); }

std::string* ExecReactor::BeginOutput() {
  const std::lock_guard lock(mutex_);
  if (writing_ || finished_) return nullptr;
  return response_.mutable_output()->mutable_data();
}

void ExecReactor::SendOutput(Stream stream) {
  {
    const std::lock_guard lock(mutex_);
    writing_ = true;
  }
  response_.mutable_output()->set_stream(stream == Stream::kStdout ? pb::OUTPUT_STREAM_STDOUT
                                                                   : pb::OUTPUT_STREAM_STDERR);
  StartWrite(&response_);
}

void ExecReactor::SendDenial(const explain::Denial& denial) {
  {
    const std::lock_guard lock(mutex_);
    writing_ = true;
  }
  ToProto(denial, exec_id_, response_.mutable_denial());
  StartWrite(&response_);
}

void ExecReactor::SendOutcome(const Outcome& outcome) {
  grpc::Status rejected;
  {
    const std::lock_guard lock(mutex_);
    writing_ = true;
    finished_ = true;
    rejected = rejected_;
  }
  if (!rejected.ok()) {
    Finish(rejected);
    return;
  }
  ToProto(outcome, response_.mutable_outcome());
  StartWriteAndFinish(&response_, grpc::WriteOptions(), grpc::Status::OK);
}

void ExecReactor::OnWriteDone(bool ok) {
  std::shared_ptr<ExecSession> session;
  {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    session = session_;
  }
  if (session == nullptr) return;
  if (!ok) session->Cancel();
  session->Continue();  // also then: what is left of the output is dropped, up to its end
}

void ExecReactor::OnCancel() {
  std::shared_ptr<ExecSession> session;
  {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    session = session_;
  }
  if (session != nullptr) session->Cancel();
}

void ExecReactor::OnDone() {
  std::shared_ptr<ExecSession> session;
  {
    const std::lock_guard lock(mutex_);
    session = std::move(session_);
  }
  if (session != nullptr) session->Detach();
  delete this;
}

}  // namespace odyssey::supervisor
