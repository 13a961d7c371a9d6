#include "common/rpc/h2_call.h"

#include <poll.h>

#include <algorithm>
#include <utility>

namespace odyssey::rpc {
namespace {

// Before each message: a byte that says whether it is compressed, and its size, big-endian.
constexpr size_t kPrefixBytes = 5;
// Of an empty inbox: a stream may live long after its largest message.
constexpr size_t kKeptBytes = 64 * 1024;

std::optional<H2Channel::Clock::time_point> After(int deadline_ms) {
  if (deadline_ms <= 0) return std::nullopt;
  return H2Channel::Clock::now() + std::chrono::milliseconds(deadline_ms);
}

uint32_t SizeOf(std::string_view prefix) {
  uint32_t size = 0;
  for (size_t i = 1; i < kPrefixBytes; ++i) size = size << 8 | static_cast<uint8_t>(prefix[i]);
  return size;
}

void AppendPrefix(size_t size, std::string* out) {
  out->push_back('\0');
  for (int shift = 24; shift >= 0; shift -= 8) out->push_back(static_cast<char>(size >> shift));
}

}  // namespace

H2Call::H2Call(std::shared_ptr<H2Channel> channel, std::string_view path,
               const CallOptions& options)
    : channel_(std::move(channel)),
      path_(path),
      deadline_ms_(options.deadline_ms),
      deadline_(After(options.deadline_ms)),
      cancel_fd_(options.cancel_fd) {
  stream_id_ = channel_->Start(this, options);
  if (stream_id_ == 0) OnLost();
}

H2Call::~H2Call() { Cancel(); }

void H2Call::Send(const google::protobuf::MessageLite& message) {
  if (done()) return;
  const size_t size = message.ByteSizeLong();
  if (size > kMaxMessageBytes) {
    return End({Code::kResourceExhausted, "a message of " + std::to_string(size) +
                                              " bytes: at most " +
                                              std::to_string(kMaxMessageBytes) + " can be sent"});
  }
  AppendPrefix(size, &outbox_);
  ODY_CHECK(message.AppendToString(&outbox_));
  channel_->Resume(stream_id_);
}

void H2Call::CloseSend() {
  if (done() || send_closed_) return;
  send_closed_ = true;
  channel_->Resume(stream_id_);
}

bool H2Call::sent() const { return outbox_.empty() && channel_->out_.empty(); }

size_t H2Call::Take(char* to, size_t size) {
  const size_t n = std::min(size, outbox_.size() - taken_);
  outbox_.copy(to, n, taken_);
  taken_ += n;
  if (taken_ < outbox_.size()) return n;
  outbox_.clear();
  taken_ = 0;
  return n;
}

bool H2Call::HasMessage() const {
  const std::string_view left = std::string_view(inbox_).substr(received_);
  return left.size() >= kPrefixBytes && left.size() - kPrefixBytes >= SizeOf(left);
}

bool H2Call::Receive(google::protobuf::MessageLite* message) {
  if (!HasMessage()) return false;
  const std::string_view left = std::string_view(inbox_).substr(received_);
  const size_t size = SizeOf(left);
  const bool parsed =
      left[0] == 0 && message->ParseFromArray(left.data() + kPrefixBytes, static_cast<int>(size));
  received_ += kPrefixBytes + size;
  if (received_ == inbox_.size()) {
    inbox_.clear();
    received_ = 0;
    if (inbox_.capacity() > kKeptBytes) inbox_.shrink_to_fit();
  }
  CreditIfWanting();
  if (parsed) return true;
  const Status malformed = Internal("the server sent what is no message of this call");
  End(malformed);
  status_ = malformed;
  return false;
}

void H2Call::OnData(std::string_view bytes) {
  if (received_ > inbox_.size() / 2) inbox_.erase(0, std::exchange(received_, 0));
  inbox_.append(bytes);
  uncredited_ += bytes.size();
  const std::string_view left = std::string_view(inbox_).substr(received_);
  if (left.size() >= kPrefixBytes && SizeOf(left) > kMaxMessageBytes) {
    return End({Code::kResourceExhausted, "the server sent a message of " +
                                              std::to_string(SizeOf(left)) + " bytes: at most " +
                                              std::to_string(kMaxMessageBytes) + " are taken"});
  }
  CreditIfWanting();
}

// Only what is part of a whole message is held back: the rest of one may be larger than the window.
void H2Call::CreditIfWanting() {
  if (!done() && !HasMessage()) channel_->Credit(stream_id_, std::exchange(uncredited_, 0));
}

void H2Call::OnClosed(uint32_t error) {
  if (!done()) status_ = answer_.Get(error);
  outbox_.clear();
  taken_ = 0;
}

void H2Call::OnLost() {
  OnClosed(0);
  status_ = Unavailable("the connection was lost").With({.hint = kHintConnectionLost});
}

void H2Call::End(Status status) {
  if (done()) return;
  status_ = std::move(status);
  outbox_.clear();
  taken_ = 0;
  channel_->Reset(stream_id_);
}

void H2Call::Cancel() {
  End(Cancelled("the call was cancelled"));
  channel_->Flush();
}

void H2Call::CancelIfAsked() {
  pollfd polled = {cancel_fd_, POLLIN, 0};
  if (cancel_fd_ >= 0 && poll(&polled, 1, 0) == 1) Cancel();
}

void H2Call::Wait() {
  pollfd polled[] = {channel_->Polled(), {cancel_fd_, POLLIN, 0}};
  if (done()) return;
  poll(polled, 2, channel_->timeout_ms());
  if (polled[1].revents != 0) Cancel();
  channel_->Pump();
}

bool H2Call::Write(const google::protobuf::MessageLite& message) {
  CancelIfAsked();
  Send(message);
  channel_->Flush();
  while (!done() && !sent()) Wait();
  return !done();
}

bool H2Call::Read(google::protobuf::MessageLite* message) {
  CancelIfAsked();
  for (;;) {
    if (Receive(message)) return true;
    if (done()) return false;
    Wait();
  }
}

Status H2Call::Finish() {
  while (!done()) {
    inbox_.clear();
    received_ = 0;
    CreditIfWanting();
    Wait();
  }
  return status();
}

}  // namespace odyssey::rpc
