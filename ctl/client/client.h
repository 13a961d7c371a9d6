#ifndef ODYSSEY_CTL_CLIENT_CLIENT_H_
#define ODYSSEY_CTL_CLIENT_CLIENT_H_

// Connections to the two daemons, and what their failures mean to a person.

#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/rpc/h2_channel.h"
#include "ctl/base/console.h"
#include "ctl/base/locations.h"
#include "policy/dialect/origin.h"

namespace odyssey::ctl {

enum class Daemon { kAgentd, kSupervisor };

// Deadlines of unary calls.
inline constexpr int kQuickCallMs = 10'000;
inline constexpr int kCellCallMs = 60'000;  // makes or ends cells, or waits for a turn to end

class Client final {
 public:
  // Connects: UNAVAILABLE or PERMISSION_DENIED saying what is in the
  // way.
  static Result<Client> Connect(Daemon daemon, const Locations& locations);

  const std::shared_ptr<rpc::H2Channel>& channel() const { return channel_; }

  // What to report for a call that failed. `origins`: where what it may refuse was written.
  Failure Explain(const std::string& what, const Status& status,
                  const dialect::Origins& origins = {}) const;

 private:
  Client(Daemon daemon, std::string socket, std::shared_ptr<rpc::H2Channel> channel);

  Daemon daemon_;
  std::string socket_;
  std::shared_ptr<rpc::H2Channel> channel_;
};

// The failure to report when Connect failed.
Failure ExplainConnect(const std::string& what, const Status& status);

// "odyssey-agentd", "odyssey-supervisor".
std::string DaemonName(Daemon daemon);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_CLIENT_CLIENT_H_
