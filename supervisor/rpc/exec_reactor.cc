#include "supervisor/rpc/exec_reactor.h"

#include <sys/random.h>

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

// Counted from anywhere, so that no two of an audit log are the same. On the loop.
std::string NextExecId() {
  static uint64_t counter = RandomBits();
  char text[32];
  snprintf(text, sizeof(text), "exe_%016llx", static_cast<unsigned long long>(++counter));
  return text;
}

}  // namespace

ExecReactor::ExecReactor(Broker* broker) : broker_(broker) { StartRead(&request_); }

// ── gRPC's threads ──────────────────────────────────────────────────────────────────────────────

// Reads are one at a time, so `started_` needs no lock. Whether the audit log admits more is asked
// here, because the answer may take a moment.
void ExecReactor::OnReadDone(bool ok) {
  if (std::exchange(started_, true)) {
    broker_->loop()->Post([this, ok] { Take(ok); });
    return;
  }
  const Status admitted = ok ? broker_->audit()->Admit() : OkStatus();
  broker_->loop()->Post([this, ok, admitted] { TakeFirst(ok, admitted); });
}

void ExecReactor::OnWriteDone(bool ok) {
  broker_->loop()->Post([this, ok] {
    writing_ = false;
    if (exec_ == nullptr) return;
    if (!ok) exec_->Cancel();
    exec_->Continue();  // also then: what is left of the output is dropped, up to its end
  });
}

void ExecReactor::OnCancel() {
  broker_->loop()->Post([this] {
    cancelled_ = true;
    if (exec_ != nullptr) exec_->Cancel();
  });
}

// Everything that was posted before runs before.
void ExecReactor::OnDone() {
  broker_->loop()->Post([this] {
    if (exec_ != nullptr) exec_->Detach();
    delete this;
  });
}

// ── The loop ────────────────────────────────────────────────────────────────────────────────────

void ExecReactor::End(const grpc::Status& status) {
  ended_ = true;
  Finish(status);
}

void ExecReactor::TakeFirst(bool ok, const Status& admitted) {
  if (!ok || !request_.has_start()) {
    return End(rpc::ToGrpc(InvalidArgument("message: the first must be start")));
  }
  const Status started = admitted.ok() ? Start() : admitted;
  if (!started.ok()) End(rpc::ToGrpc(started));
}

// The command may end before StartExec returns, and then call the sink: `writing_` holds it off
// until `started` is sent.
Status ExecReactor::Start() {
  ODY_RETURN_IF_ERROR(CheckStart(request_.start()));
  exec_id_ = NextExecId();
  writing_ = true;
  ODY_ASSIGN_OR_RETURN(exec_, broker_->StartExec(request_.start(), exec_id_, this));
  const uint64_t run = exec_->options().spec.run;
  response_.mutable_started()->set_exec_id(exec_id_);
  if (run != 0) response_.mutable_started()->set_run_id(cell::RunName(run));
  if (cancelled_) exec_->Cancel();
  StartWrite(&response_);
  StartRead(&request_);
  return OkStatus();
}

void ExecReactor::Take(bool ok) {
  if (ended_ || exec_ == nullptr) return;
  if (!ok) return exec_->CloseStdin();  // the client half-closed
  const Status forwarded = Forward();
  if (forwarded.ok()) return;
  // Kills the command; the call ends once it is gone.
  rejected_ = rpc::ToGrpc(forwarded);
  exec_->Cancel();
}

Status ExecReactor::Forward() {
  ODY_RETURN_IF_ERROR(CheckFollowing(request_));
  switch (request_.message_case()) {
    case pb::ExecRequest::kStdin:
      if (!exec_->options().open_stdin && !exec_->options().spec.terminal) {
        return InvalidArgument("stdin: the command's is /dev/null; set start.open_stdin");
      }
      exec_->WriteStdin(std::move(*request_.mutable_stdin()));
      return OkStatus();  // StdinTaken asks for the next message
    case pb::ExecRequest::kStdinEof:
      exec_->CloseStdin();
      break;
    case pb::ExecRequest::kResize:
      exec_->Resize(static_cast<uint16_t>(request_.resize().rows()),
                    static_cast<uint16_t>(request_.resize().columns()));
      break;
    case pb::ExecRequest::kSignal:
      exec_->Signal(request_.signal());
      break;
    default:
      break;
  }
  StartRead(&request_);
  return OkStatus();
}

void ExecReactor::StdinTaken() { StartRead(&request_); }

std::string* ExecReactor::BeginOutput() {
  if (writing_ || ended_) return nullptr;
  return response_.mutable_output()->mutable_data();
}

void ExecReactor::Write() {
  writing_ = true;
  StartWrite(&response_);
}

void ExecReactor::SendOutput(Stream stream) {
  pb::ExecOutput& output = *response_.mutable_output();
  output.set_stream(stream == Stream::kStdout ? pb::OUTPUT_STREAM_STDOUT
                                              : pb::OUTPUT_STREAM_STDERR);
  output.set_end(output.data().empty());
  Write();
}

void ExecReactor::SendDenial(const explain::Denial& denial) {
  ToProto(denial, exec_id_, response_.mutable_denial());
  Write();
}

void ExecReactor::SendOutcome(const Outcome& outcome) {
  if (!rejected_.ok()) return End(rejected_);
  ended_ = writing_ = true;
  *response_.mutable_outcome() = outcome.sent;
  StartWriteAndFinish(&response_, grpc::WriteOptions(), grpc::Status::OK);
}

}  // namespace odyssey::supervisor
