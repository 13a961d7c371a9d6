#ifndef ODYSSEY_SUPERVISOR_RPC_EGRESS_LINK_H_
#define ODYSSEY_SUPERVISOR_RPC_EGRESS_LINK_H_

// A cell's way to odyssey-egress: gives it the policy and the ways out that cell-init opened, and
// gives them again to one that was started anew. Until then what the cell connects to waits. For
// the loop's thread alone.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/os/message_socket.h"
#include "common/os/unique_fd.h"
#include "policy/egress/network_policy.h"
#include "supervisor/rpc/event_loop.h"
#include "supervisor/wire/egress_wire.h"

namespace odyssey::supervisor {

class EgressLink final : public std::enable_shared_from_this<EgressLink> {
 public:
  struct Events {
    std::function<void(const egress_wire::Record&)> on_record;
    // Bytes since it was called last, and the connections that are open.
    std::function<void(const egress_wire::Traffic&)> on_traffic;
    std::function<void(uint64_t revision)> on_loaded;  // it decides by this policy
    std::function<void(uint64_t number)> on_synced;    // the answer to Sync
    // The answer to a policy, and when a provider was changed.
    std::function<void(const egress_wire::Placeholders&)> on_placeholders;
  };

  // `loop` is borrowed; `socket_path`: of odyssey-egress.
  EgressLink(EventLoop* loop, std::string socket_path, std::string cell_id, Events events);
  ~EgressLink();

  // UNAVAILABLE: odyssey-egress does not serve. Before anything else, once.
  Status Open();

  // By which connections of the cell that are looked into speak for their hosts.
  void SetAuthority(const std::string& text);

  // The user's providers of these names are the cell's, by the next SetPolicy.
  void SetProviders(uint32_t owner_uid, std::vector<std::string> names);

  // odyssey-egress serves, or did a moment ago.
  bool connected() const { return static_cast<bool>(socket_); }

  // In force for what follows, and for connections that last.
  void SetPolicy(const egress::NetworkPolicy& policy, uint64_t revision);

  // Answered when the records of what was decided before have come; not at all if the connection
  // breaks. False: there is none.
  bool Sync(uint64_t number);

  void AddWay(const cell::EgressWay& way, UniqueFd fd);
  // What cell-init is to open for the policy; no more than kMaxEgressWays.
  static std::vector<cell::EgressWay> WaysOf(const egress::NetworkPolicy& policy);

  // Nothing more is served. What was decided before is still recorded.
  void Close();

 private:
  Status Connect();
  void Send(const std::string& bytes, int fd = -1);
  void OnReadable();
  void OnTraffic(const egress_wire::Traffic& now);
  void ConnectLater();
  void Drop();

  EventLoop* const loop_;
  const std::string socket_path_;
  const Events events_;
  UniqueFd socket_;
  uint64_t group_ = 0;  // of the connection
  egress_wire::SetPolicy policy_;
  egress_wire::SetAuthority authority_;
  std::map<cell::EgressWay, UniqueFd> ways_;
  egress_wire::Traffic traffic_;  // that this broker has counted
  uint64_t timer_ = EventLoop::kNoTimer;
  bool closed_ = false;
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_EGRESS_LINK_H_
