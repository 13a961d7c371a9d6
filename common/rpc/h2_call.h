#ifndef ODYSSEY_COMMON_RPC_H2_CALL_H_
#define ODYSSEY_COMMON_RPC_H2_CALL_H_

// One call over an H2Channel: messages out, messages in, a status at the end. A caller with a poll
// loop of its own uses the first half, and pumps the channel; the second half waits.

#include <google/protobuf/message_lite.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/rpc/call_status.h"
#include "common/rpc/h2_channel.h"

namespace odyssey::rpc {

struct CallOptions {
  int deadline_ms = 0;  // from now; 0: none
  int cancel_fd = -1;   // borrowed: while it is readable, a call that waits is cancelled
  // The metadata `authorization`; empty: none. Read while the call is made.
  std::string_view authorization = {};
};

class H2Call final {
 public:
  // `path`: "/package.Service/Method"; outlives the call. Connects if need be.
  H2Call(std::shared_ptr<H2Channel> channel, std::string_view path, const CallOptions& options);
  // Cancels it, unless it is done.
  ~H2Call();
  H2Call(const H2Call&) = delete;
  H2Call& operator=(const H2Call&) = delete;

  void Send(const google::protobuf::MessageLite& message);
  void CloseSend();
  // Whether the connection has taken all that was sent: until then the server holds it back.
  bool sent() const;
  bool HasMessage() const;
  // The oldest message that has come and was not received, if there is one.
  bool Receive(google::protobuf::MessageLite* message);
  // The status is there. Messages that came before it can still be received.
  bool done() const { return status_.has_value(); }
  const Status& status() const { return *status_; }
  // Ends it here and at the server. Without effect on a call that is done.
  void Cancel();
  H2Channel& channel() const { return *channel_; }

  // Waits until all is sent; false: the call is done.
  bool Write(const google::protobuf::MessageLite& message);
  // Waits for a message; false: none follows.
  bool Read(google::protobuf::MessageLite* message);
  // Waits for the status; messages that come are dropped.
  Status Finish();

 private:
  friend class H2Channel;

  // Of H2Channel.
  void OnHeader(std::string_view name, std::string_view value) { answer_.Add(name, value); }
  void OnData(std::string_view bytes);
  void OnClosed(uint32_t error);
  void OnLost();
  size_t Take(char* to, size_t size);

  void End(Status status);
  void CreditIfWanting();
  void CancelIfAsked();
  void Wait();

  const std::shared_ptr<H2Channel> channel_;
  const std::string_view path_;
  const int deadline_ms_;
  const std::optional<H2Channel::Clock::time_point> deadline_;
  const int cancel_fd_;
  int32_t stream_id_ = 0;

  std::string outbox_;
  size_t taken_ = 0;  // of the outbox
  bool send_closed_ = false;
  std::string inbox_;
  size_t received_ = 0;  // of the inbox
  size_t uncredited_ = 0;
  CallStatus answer_;
  std::optional<Status> status_;
};

}  // namespace odyssey::rpc

#endif  // ODYSSEY_COMMON_RPC_H2_CALL_H_
