#include "supervisor/rpc/run_output.h"

#include <algorithm>
#include <utility>

namespace odyssey::supervisor {
namespace {

// Of one request. Several of these may wait before the command does.
constexpr size_t kChunk = 1024 * 1024;
constexpr size_t kMaxWaiting = 2 * kChunk;

}  // namespace

void RunOutput::Add(std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  if (!failure_.ok() || closed_) return;
  const std::string_view kept = bytes.substr(0, kMaxKeptBytes - accepted_);
  waiting_ += kept;
  accepted_ += kept.size();
  if (kept.size() < bytes.size()) {
    failure_ = ResourceExhausted("at most " + std::to_string(kMaxKeptBytes) + " bytes are kept");
  }
  Schedule();
}

void RunOutput::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

bool RunOutput::full() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size() >= kMaxWaiting;
}

bool RunOutput::done() const {
  const std::lock_guard lock(mutex_);
  return !writing_ && waiting_.empty() && (closed_ || !failure_.ok());
}

std::string RunOutput::error() const {
  const std::lock_guard lock(mutex_);
  return failure_.message();
}

// With the lock. One job at a time, which takes what has come meanwhile: small pieces of output
// become few requests.
void RunOutput::Schedule() {
  if (writing_ || waiting_.empty()) return;
  writing_ = wiring_.do_later([self = shared_from_this()] { self->WriteSome(); });
  if (writing_) return;
  failure_ = Unavailable("no thread to write it");
  waiting_.clear();
}

void RunOutput::WriteSome() {
  std::string bytes;
  {
    const std::lock_guard lock(mutex_);
    bytes = waiting_.substr(0, kChunk);
    waiting_.erase(0, bytes.size());
  }
  const Status status = Write(bytes);
  {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    if (!status.ok()) {
      failure_ = status;
      waiting_.clear();
    }
    Schedule();
  }
  wiring_.progress();
}

Status RunOutput::Write(const std::string& bytes) {
  tool::Request request{.op = tool::Op::kAppend, .path = path_, .content = bytes};
  if (written_ == 0) {
    (void)wiring_.ask({.op = tool::Op::kDiscard, .path = path_});  // of an earlier command
    request.op = tool::Op::kCreate;
  }
  request.offset = written_;
  ODY_RETURN_IF_ERROR(wiring_.ask(request).status());
  written_ += bytes.size();
  return OkStatus();
}

}  // namespace odyssey::supervisor
