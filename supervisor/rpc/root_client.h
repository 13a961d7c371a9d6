#ifndef ODYSSEY_SUPERVISOR_RPC_ROOT_CLIENT_H_
#define ODYSSEY_SUPERVISOR_RPC_ROOT_CLIENT_H_

// The rpc side of the conversation with root, or with the host runner. Answers are read by the loop
// and handed to the callbacks given with the request. For the loop's thread alone, once it runs.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/os/message_socket.h"
#include "common/os/unique_fd.h"
#include "supervisor/wire/root_wire.h"

namespace odyssey::supervisor {

class RootClient final {
 public:
  // `fds`: what came with it, as root_wire.h says.
  using LaunchedCallback = std::function<void(const wire::Launched&, std::vector<UniqueFd> fds)>;
  using StatsCallback = std::function<void(const wire::StatsReply&)>;
  using GoneCallback = std::function<void(const wire::Gone&)>;

  explicit RootClient(UniqueFd socket) : socket_(std::move(socket)) {}

  // Blocks for root's first message.
  Result<wire::Hello> ReceiveHello();
  Status SendReady();

  // Called for every cell that ends; set before the loop runs.
  void set_on_gone(GoneCallback callback) { on_gone_ = std::move(callback); }

  // … but not for this one, whose end is told to `callback`, once.
  void NotifyGone(const std::string& cell_id, GoneCallback callback);

  Status Launch(const std::string& plan, LaunchedCallback callback);
  Status Kill(const std::string& cell_id, bool purge);
  Status AskStats(const std::string& cell_id, StatsCallback callback);

  int fd() const { return socket_.get(); }
  // Reads one message and calls its callback. CANCELLED when root stops in order, UNAVAILABLE when
  // it is gone.
  Status ReadOne();

 private:
  bool IsStopped() const;
  Status HandleLaunched(Message message);
  Status HandleStats(const Message& message);
  Status HandleGone(const Message& message);

  const UniqueFd socket_;
  GoneCallback on_gone_;
  uint64_t next_request_ = 1;
  std::map<uint64_t, LaunchedCallback> launches_;
  std::map<uint64_t, StatsCallback> stats_;
  std::map<std::string, GoneCallback> gone_;  // by cell
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_ROOT_CLIENT_H_
