#include "agentd/sandbox/exec_feed.h"

#include <algorithm>
#include <utility>

namespace odyssey::sandbox {
namespace {

using supervisor::v1::ExecRequest;

// So that a signal never waits for more than that to be read.
constexpr size_t kMaxPieceBytes = 32 * 1024;

}  // namespace

// Caller holds mutex_.
void ExecFeed::Push(ExecRequest message) {
  waiting_bytes_ += message.stdin().size();
  messages_.push_back(std::move(message));
  more_.notify_one();
}

Status ExecFeed::Write(std::string_view bytes) {
  std::lock_guard lock(mutex_);
  if (closed_ || ended_) return FailedPrecondition("its stdin is closed");
  if (waiting_bytes_ + bytes.size() > kMaxFedBytes) {
    return ResourceExhausted(std::to_string(waiting_bytes_) +
                             " bytes of its stdin are not read yet; at most " +
                             std::to_string(kMaxFedBytes) + " wait");
  }
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), kMaxPieceBytes))) {
    ExecRequest message;
    message.set_stdin(std::string(bytes.substr(0, kMaxPieceBytes)));
    Push(std::move(message));
  }
  return OkStatus();
}

void ExecFeed::CloseStdin() {
  std::lock_guard lock(mutex_);
  if (std::exchange(closed_, true)) return;
  ExecRequest message;
  message.set_stdin_eof(true);
  Push(std::move(message));
}

void ExecFeed::Signal(int signal) {
  std::lock_guard lock(mutex_);
  ExecRequest message;
  message.set_signal(signal);
  messages_.push_front(std::move(message));
  more_.notify_one();
}

std::optional<ExecRequest> ExecFeed::Take() {
  std::unique_lock lock(mutex_);
  more_.wait(lock, [this] { return ended_ || !messages_.empty(); });
  if (ended_) return std::nullopt;
  ExecRequest message = std::move(messages_.front());
  messages_.pop_front();
  waiting_bytes_ -= message.stdin().size();
  return message;
}

void ExecFeed::End() {
  std::lock_guard lock(mutex_);
  ended_ = true;
  more_.notify_all();
}

}  // namespace odyssey::sandbox
