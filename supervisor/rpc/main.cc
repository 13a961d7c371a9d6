// odyssey-supervisor-rpc --run DIR [--policy DIR] [--client-uid UID]… [--audit-keep-bytes N]
// [--audit-keep SECONDS] [--pool-cells N] [--pool-idle SECONDS] [--own DIR] [--notify SOCKET
// [--watchdog-usec N]]: started by odyssey-supervisor, as a user of its own without capabilities,
// with fd 3 = socket to root, fd 4 = the listening socket and fd 5 = the directory of the audit
// log.

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "common/base/version.h"
#include "common/os/notify_socket.h"
#include "common/os/stdio.h"
#include "common/rpc/health.h"
#include "common/rpc/metrics_service.h"
#include "common/rpc/peer_listener.h"
#include "supervisor/rpc/audit_log.h"
#include "supervisor/rpc/audit_records.h"
#include "supervisor/rpc/broker.h"
#include "supervisor/rpc/ceiling_gate.h"
#include "supervisor/rpc/changes_service.h"
#include "supervisor/rpc/convert.h"
#include "supervisor/rpc/egress_service.h"
#include "supervisor/rpc/image_store.h"
#include "supervisor/rpc/images_service.h"
#include "supervisor/rpc/layer_cells.h"
#include "supervisor/rpc/standing_store.h"
#include "supervisor/rpc/supervisor_service.h"

namespace odyssey::supervisor {
namespace {

constexpr int kRootSocketFd = 3;
constexpr int kListenerFd = 4;
constexpr int kAuditFd = 5;
// A file operation's content and its message around it; see supervisor/wire/tool_wire.h.
constexpr int kMaxMessageBytes = 17 * 1024 * 1024;

int Fail(const Status& status) {
  fprintf(stderr, "<3>odyssey-supervisor-rpc: %s\n", status.message().c_str());
  return 1;
}

struct Options {
  std::string run;
  std::string policy = dialect::kCeilingDirectory;
  std::set<uid_t> clients = {0, getuid()};
  std::string audit_keep_bytes = "0";
  std::string audit_keep_s = "0";
  std::string pool_cells = "0";
  std::string pool_idle_s = "60";
  std::string own;     // a directory that no cell is shown, beside those that root names
  std::string notify;  // the service manager's socket; "": none
  uint64_t watchdog_usec = 0;
};

Result<Options> ParseOptions(int argc, char** argv) {
  Options out;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) return InvalidArgument(name + ": needs a value");
    const char* const value = argv[i + 1];
    if (name == "--run") {
      out.run = value;
    } else if (name == "--policy") {
      out.policy = value;
    } else if (name == "--client-uid") {
      out.clients.insert(static_cast<uid_t>(strtoul(value, nullptr, 10)));
    } else if (name == "--audit-keep-bytes") {
      out.audit_keep_bytes = value;
    } else if (name == "--audit-keep") {
      out.audit_keep_s = value;
    } else if (name == "--pool-cells") {
      out.pool_cells = value;
    } else if (name == "--pool-idle") {
      out.pool_idle_s = value;
    } else if (name == "--own") {
      out.own = value;
    } else if (name == "--notify") {
      out.notify = value;
    } else if (name == "--watchdog-usec") {
      out.watchdog_usec = strtoull(value, nullptr, 10);
    } else {
      return InvalidArgument(
          "unknown option " + name +
          "; allowed: --run --policy --client-uid --audit-keep-bytes --audit-keep "
          "--pool-cells --pool-idle --own --notify --watchdog-usec");
    }
  }
  return out;
}

// Reports that the thread which owns the cells runs, and again and again.
void ReportAlive(const NotifySocket& manager, EventLoop* loop) {
  manager.Alive();
  loop->At(Clock::now() + manager.alive_period(), [&manager, loop] { ReportAlive(manager, loop); });
}

std::optional<uint64_t> NumberOf(const std::string& text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || *end != '\0') return std::nullopt;
  return number;
}

// How much of the audit log stays: of both 0, or bytes from kMinKeepBytes and seconds to
// kMaxKeepAge.
Result<audit::Retention> AuditRetention(const Options& options) {
  const auto bytes = NumberOf(options.audit_keep_bytes);
  if (!bytes || (*bytes != 0 && *bytes < audit::kMinKeepBytes)) {
    return InvalidArgument("--audit-keep-bytes " + options.audit_keep_bytes +
                           ": give 0, to keep all, or at least " +
                           std::to_string(audit::kMinKeepBytes) + " bytes");
  }
  const auto age_s = NumberOf(options.audit_keep_s);
  if (!age_s || *age_s > static_cast<uint64_t>(audit::kMaxKeepAge.count())) {
    return InvalidArgument("--audit-keep " + options.audit_keep_s +
                           ": give 0, to keep all, or at most " +
                           std::to_string(audit::kMaxKeepAge.count()) + " seconds");
  }
  return audit::KeepAbout(*bytes, std::chrono::seconds(*age_s));
}

// Of the cells that are made ahead: 0 to kMaxPoolCells, kept for 1 s to kMaxPoolIdle.
Result<PoolOptions> PoolOf(const Options& options) {
  const auto cells = NumberOf(options.pool_cells);
  if (!cells || *cells > kMaxPoolCells) {
    return InvalidArgument("--pool-cells " + options.pool_cells + ": give 0, to make none, to " +
                           std::to_string(kMaxPoolCells));
  }
  const auto idle_s = NumberOf(options.pool_idle_s);
  if (!idle_s || *idle_s == 0 || *idle_s > static_cast<uint64_t>(kMaxPoolIdle.count())) {
    return InvalidArgument("--pool-idle " + options.pool_idle_s + ": give 1 to " +
                           std::to_string(kMaxPoolIdle.count()) + " seconds");
  }
  return PoolOptions{.cells = *cells, .idle = std::chrono::seconds(*idle_s)};
}

int Serve(const Options& options) {
  RootClient root{UniqueFd(kRootSocketFd)};
  auto hello = root.ReceiveHello();
  if (!hello.ok()) return Fail(hello.status());
  compile::HostFacts facts = GatherHostFacts(*hello);
  // The store is bundles/trees of agentd's state directory; none of the rest is shown.
  const std::string& store = facts.check.bundle_store;
  if (const size_t slash = store.rfind('/'); slash != std::string::npos && slash > 0) {
    facts.check.own_directories.push_back(store.substr(0, store.rfind('/', slash - 1)));
  }
  if (!options.own.empty()) facts.check.own_directories.push_back(options.own);
  CeilingGate ceiling(options.policy, facts.check);
  if (const Status status = ceiling.Check(); !status.ok()) return Fail(status);
  auto reviewed = ReviewedCells::Open(kAuditFd);
  if (!reviewed.ok()) return Fail(reviewed.status());
  auto standings = StandingStore::Open(kAuditFd);
  if (!standings.ok()) return Fail(standings.status());
  const auto kept = standings->All();
  if (!kept.ok()) return Fail(kept.status());
  const auto retention = AuditRetention(options);
  if (!retention.ok()) return Fail(retention.status());
  const auto pool = PoolOf(options);
  if (!pool.ok()) return Fail(pool.status());
  auto log = audit::LogStore::Open(UniqueFd(kAuditFd), *retention);
  if (!log.ok()) return Fail(Internal("open the audit log: " + log.status().message()));
  AuditLog audit(std::move(*log));
  audit.Add(StartRecord(kVersion));
  const HostLink host(wire::HostSocket(options.run));
  Broker broker(&root, std::move(*hello), facts, &ceiling, &audit, &host,
                options.run + egress_wire::kBrokerSocket, *pool);
  for (const v1::CellInfo& cell : *kept) broker.Restore(FromProto(cell));
  const std::unique_ptr<LayerCells> layer_cells = MakeLayerCells(broker.loop(), broker.root());
  auto image_store =
      ImageStore::Open(kAuditFd, layer_cells.get(), [&] { return ceiling.Images(); });
  if (!image_store.ok()) return Fail(image_store.status());
  broker.set_find_image(
      [images = image_store->get()](const auto& image, const auto& programs, uint32_t owner_uid) {
        return images->Find(image, programs, owner_uid);
      });
  SupervisorService service(&broker, &*reviewed, &*standings, image_store->get());
  ChangesService changes(&broker, &*reviewed, image_store->get());
  ImagesService images(&broker, image_store->get());
  EgressService egress(&broker);
  rpc::MetricsService metrics([&broker](const auto&) { return broker.CollectMetrics(); });

  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  builder.RegisterService(&changes);
  builder.RegisterService(&images);
  builder.RegisterService(&egress);
  builder.RegisterService(&metrics);
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  const std::unique_ptr<grpc::Server> server = rpc::StartWithHealth(
      &builder, {v1::Supervisor::service_full_name(), v1::Changes::service_full_name(),
                 v1::Images::service_full_name(), v1::Egress::service_full_name(),
                 ops::v1::Metrics::service_full_name()});
  if (server == nullptr) return Fail(Internal("start the gRPC server"));

  rpc::PeerListener listener(UniqueFd(kListenerFd), server.get(), {.uids = options.clients});
  const NotifySocket manager(options.notify, options.watchdog_usec);
  Status status = root.SendReady();
  if (status.ok()) manager.Ready();
  if (manager.alive_period().count() > 0) ReportAlive(manager, broker.loop());
  if (status.ok()) status = broker.Run();
  // Root stops, is gone or does not want us: the cells end with it, and there is nothing else to
  // save.
  const bool in_order = status.code() == Code::kCancelled;
  if (!in_order) (void)Fail(status);
  audit.Add(StopRecord(status.message()));
  (void)audit.Flush();
  fflush(nullptr);
  _exit(in_order ? 0 : 1);
}

}  // namespace
}  // namespace odyssey::supervisor

[[gnu::section(".preinit_array"), gnu::used]] void (*const kFirst)() = odyssey::OpenMissingStdio;

int main(int argc, char** argv) {
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  signal(SIGPIPE, SIG_IGN);
  const auto options = odyssey::supervisor::ParseOptions(argc, argv);
  if (!options.ok()) return odyssey::supervisor::Fail(options.status());
  return odyssey::supervisor::Serve(*options);
}
