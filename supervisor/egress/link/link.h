#ifndef ODYSSEY_SUPERVISOR_EGRESS_LINK_LINK_H_
#define ODYSSEY_SUPERVISOR_EGRESS_LINK_LINK_H_

// One end of a SOCK_SEQPACKET connection whose messages carry descriptors, on an event loop. For
// the loop's thread alone.

#include <deque>
#include <memory>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "common/base/status.h"
#include "common/os/message_socket.h"
#include "common/os/unique_fd.h"

namespace odyssey::egress {

namespace asio = boost::asio;

class Link final : public std::enable_shared_from_this<Link> {
 public:
  Link(asio::io_context* loop, UniqueFd socket);

  // The next message. UNAVAILABLE: the peer is gone, or Close was called. For one caller at a time.
  // Without its descriptor, if this process may open no more.
  asio::awaitable<Result<Message>> Receive();

  // In the order of the calls. A peer that takes no messages is given up when too many wait.
  void Send(std::string bytes, UniqueFd fd = {});

  // Sends nothing more; what the peer sent is still received, until it is gone.
  void Finish();

  void Close();

 private:
  struct Waiting {
    std::string bytes;
    UniqueFd fd;
  };
  Result<Message> ReceiveNow();
  void Flush();

  asio::posix::stream_descriptor socket_;
  std::deque<Waiting> waiting_;
  bool flushing_ = false;
  int burst_ = 0;   // messages since the last wait
  UniqueFd spare_;  // given up for the descriptor of a message
};

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_LINK_LINK_H_
