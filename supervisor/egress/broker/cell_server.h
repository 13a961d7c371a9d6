#ifndef ODYSSEY_SUPERVISOR_EGRESS_BROKER_CELL_SERVER_H_
#define ODYSSEY_SUPERVISOR_EGRESS_BROKER_CELL_SERVER_H_

// What odyssey-egress does for one cell: starts its worker when something arrives on one of the
// cell's ways, passes on what rpc and the worker say to each other, and dials for the worker. The
// only process of ours that looks names up and connects to what is outside. For the loop's thread
// alone.

#include <map>
#include <memory>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "common/os/unique_fd.h"
#include "policy/egress/decide.h"
#include "supervisor/egress/broker/cell_routes.h"
#include "supervisor/egress/broker/dialer.h"
#include "supervisor/egress/broker/name_lookup.h"
#include "supervisor/egress/broker/provider_store.h"
#include "supervisor/egress/limits/fair_shares.h"
#include "supervisor/egress/limits/limits.h"
#include "supervisor/egress/link/link.h"
#include "supervisor/wire/egress_wire.h"

namespace odyssey::egress {

struct WorkerProgram {
  std::string path;
  std::string certificates;  // of the host (PEM): path
  Limits limits;
};

// Of all cells.
struct Shares {
  explicit Shares(const Limits& limits)
      : dials(limits.dials, limits.cell_dials), workers(limits.workers, 1) {}
  FairShares dials, workers;
};

// What the cells have in common, borrowed.
struct BrokerParts {
  asio::io_context* loop;
  NameLookup* names;
  const Dialer* dialer;
  Shares* shares;
  const ProviderStore* providers;
  const InferenceFiles* routes;
  const WorkerProgram* worker;
};

class CellServer final : public std::enable_shared_from_this<CellServer> {
 public:
  // `rpc`: its connection for this cell.
  CellServer(const BrokerParts& parts, UniqueFd rpc);

  // Until rpc closes the connection or says what is no message; then the worker ends too.
  asio::awaitable<void> Run();

  // A provider of this user, or of the operator, was changed.
  void OnProviderChanged(uid_t owner);

 private:
  using Descriptor = asio::posix::stream_descriptor;

  Status OnRpc(Message message);
  // Starts the worker when something arrives.
  void Watch(const cell::EgressWay& way);
  void WatchAll();
  // When there is a place for it.
  void AskForWorker();
  void OnPlaceForWorker();
  Status StartWorker();
  // What the cell may use of its owner's providers, as their files are now.
  void TellProviders();
  // Overwrites the secrets; sends them if there is a worker.
  void GiveCredentials(std::vector<egress_wire::Credential> all);
  void GiveWay(const cell::EgressWay& way);
  void TellLoaded();
  void TellSynced();
  void GiveRoutes();
  asio::awaitable<void> ServeWorker(std::shared_ptr<Link> worker);
  Status OnWorker(const std::shared_ptr<Link>& worker, const Message& message);
  void OnDial(const std::shared_ptr<Link>& worker, egress_wire::Dial dial);
  void OnTraffic(egress_wire::Traffic used);
  // Of the whole cell.
  void TellTraffic();
  asio::awaitable<void> Serve(std::shared_ptr<Link> worker, egress_wire::Dial dial);
  asio::awaitable<Result<UniqueFd>> Connect(const egress_wire::Dial& dial,
                                            egress_wire::Dialed* answer);
  asio::awaitable<Result<UniqueFd>> ConnectRoute(const std::string& name,
                                                 egress_wire::Dialed* answer);
  // Where the host leads, if the pairs allow all of it.
  asio::awaitable<Result<UniqueFd>> ConnectChecked(Connection to, std::vector<Pair> pairs,
                                                   egress_wire::Dialed* answer);
  asio::awaitable<Result<UniqueFd>> ConnectToAny(Addresses addresses, uint16_t port,
                                                 egress_wire::Dialed* answer);
  asio::awaitable<Result<Addresses>> AddressesOf(const std::string& host);
  void End();

  const BrokerParts parts_;
  const std::shared_ptr<Link> rpc_;
  std::shared_ptr<const egress_wire::SetPolicy> policy_ =
      std::make_shared<egress_wire::SetPolicy>();
  std::string encoded_policy_, encoded_authority_;
  std::map<cell::EgressWay, std::shared_ptr<Descriptor>> ways_;
  CellRoutes routes_;
  std::shared_ptr<Link> worker_;
  std::map<std::string, egress_wire::Traffic> used_;  // by key
  uint64_t sync_ = 0;                                 // the latest that rpc has sent
  bool asked_ = false;                                // for a worker
  bool ended_ = false;
};

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_BROKER_CELL_SERVER_H_
