#ifndef ODYSSEY_CTL_ACCESS_FORWARDER_H_
#define ODYSSEY_CTL_ACCESS_FORWARDER_H_

#include <sys/types.h>

#include <chrono>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "ctl/access/listen.h"
#include "ctl/access/relayed.h"
#include "ctl/base/console.h"
#include "ctl/client/client.h"
#include "odyssey/supervisor/v1/supervisor.stub.h"

namespace odyssey::ctl {

// Relays connections to ports of one cell until a signal comes or the cell has ended. One poll loop
// in one thread. It dials into the cell alone: nothing that comes out of the cell opens anything
// here. Caller must be single-threaded.
class Forwarder final {
 public:
  // `allowed`: whose connections to a loopback address are relayed; empty: everyone's.
  Forwarder(const Console& console, const Client& client, std::string cell_id,
            std::vector<uid_t> allowed);

  // The exit code.
  int Run(const std::vector<Listener>& listeners);

 private:
  using Clock = std::chrono::steady_clock;
  using Watch =
      rpc::Stream<supervisor::v1::DescribeCellRequest, supervisor::v1::DescribeCellResponse>;

  void Accept(const Listener& listener);
  bool MayConnect(const Listener& listener, int connection) const;
  void Conclude(const Relayed& connection);
  void WatchCell();
  void Say(const Failure& failure);

  const Console& console_;
  const Client& client_;
  const supervisor::v1::SupervisorStub stub_;
  const std::string cell_id_;
  const std::vector<uid_t> allowed_;
  std::list<Relayed> connections_;
  std::optional<Watch> watch_;
  supervisor::v1::DescribeCellResponse seen_;
  Clock::time_point next_look_ = Clock::now();
  std::string said_;  // last: the same is not said again
  bool ended_ = false;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_ACCESS_FORWARDER_H_
