#ifndef ODYSSEY_COMMON_UPSTREAM_AGENT_LINK_H_
#define ODYSSEY_COMMON_UPSTREAM_AGENT_LINK_H_

// Calls of odyssey-agentd in an event loop: all over one connection (common/rpc/h2_channel), each
// with the token of its request. It connects again by itself for the next call after a lost
// connection. Of the loop's thread alone.

#include <google/protobuf/message_lite.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "common/base/status.h"
#include "common/rpc/h2_call.h"
#include "common/rpc/h2_channel.h"

namespace odyssey::upstream {

class AgentLink;

class AgentCall final : public std::enable_shared_from_this<AgentCall> {
 public:
  // Called from the loop when there may be something to do: a message, the end, or room to send.
  using OnProgress = std::function<void()>;

  // As AgentLink::Open does it.
  AgentCall(AgentLink* link, std::string path, const std::string& token, int deadline_ms,
            OnProgress on_progress);
  // Cancels it, unless it is done.
  ~AgentCall();
  AgentCall(const AgentCall&) = delete;
  AgentCall& operator=(const AgentCall&) = delete;

  void Send(const google::protobuf::MessageLite& message);
  void CloseSend();
  // Whether the connection has taken all that was sent.
  bool sent() const { return call_.sent(); }
  // A message that is not received holds the server back.
  bool Receive(google::protobuf::MessageLite* message);
  // The status is there, and no message is left.
  bool ended() const { return call_.done() && !call_.HasMessage(); }
  const Status& status() const { return call_.status(); }

 private:
  friend class AgentLink;

  AgentLink* const link_;
  const std::string path_;
  const OnProgress on_progress_;
  bool wants_room_ = false, told_end_ = false;
  rpc::H2Call call_;
};

class AgentLink final {
 public:
  AgentLink(boost::asio::io_context* loop, std::string socket_path);
  // Every call of it has been destroyed.
  ~AgentLink();

  // `token`: empty: none. `deadline_ms`: 0: none.
  std::shared_ptr<AgentCall> Open(std::string path, const std::string& token, int deadline_ms,
                                  AgentCall::OnProgress on_progress);
  // Waits for nothing any more, so that the loop can end.
  void Close();

 private:
  friend class AgentCall;

  // Sends what waits, and waits for what the connection waits for; soon, and once.
  void Schedule();
  void Settle();
  void Pump();
  // Each call that has something to do is told.
  void Tell();

  boost::asio::io_context* const loop_;
  const std::shared_ptr<rpc::H2Channel> channel_;
  std::set<AgentCall*> calls_;
  // A duplicate of the connection's descriptor, so that the channel can close its own at any time.
  std::optional<boost::asio::posix::stream_descriptor> descriptor_;
  uint64_t watched_ = 0;  // which connection's
  bool reading_ = false, writing_ = false, scheduled_ = false, closed_ = false;
  boost::asio::steady_timer timer_;
};

}  // namespace odyssey::upstream

#endif  // ODYSSEY_COMMON_UPSTREAM_AGENT_LINK_H_
