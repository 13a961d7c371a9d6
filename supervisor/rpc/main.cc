// odyssey-supervisor-rpc --run DIR [--policy DIR] [--client-uid UID]…: started by
// odyssey-supervisor, as a user of its own without capabilities, with fd 3 = socket to root, fd 4 =
// the listening socket and fd 5 = the directory of the audit log.

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <set>

#include "common/base/version.h"
#include "common/os/stdio.h"
#include "common/rpc/health.h"
#include "common/rpc/peer_listener.h"
#include "supervisor/rpc/audit_log.h"
#include "supervisor/rpc/audit_records.h"
#include "supervisor/rpc/broker.h"
#include "supervisor/rpc/ceiling_gate.h"
#include "supervisor/rpc/changes_service.h"
#include "supervisor/rpc/egress_service.h"
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

// Root and ourselves beside those named on the command line.
std::set<uid_t> AllowedClients(int argc, char** argv) {
  std::set<uid_t> allowed = {0, getuid()};
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--client-uid") == 0) {
      allowed.insert(static_cast<uid_t>(strtoul(argv[i + 1], nullptr, 10)));
    }
  }
  return allowed;
}

// Of an option that comes once.
std::string OptionOr(int argc, char** argv, const char* name, const char* otherwise) {
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], name) == 0) return argv[i + 1];
  }
  return otherwise;
}

int Serve(int argc, char** argv) {
  RootClient root{UniqueFd(kRootSocketFd)};
  auto hello = root.ReceiveHello();
  if (!hello.ok()) return Fail(hello.status());
  compile::HostFacts facts = GatherHostFacts(*hello);
  // The store is bundles/trees of agentd's state directory; none of the rest is shown.
  const std::string& store = facts.check.bundle_store;
  if (const size_t slash = store.rfind('/'); slash != std::string::npos && slash > 0) {
    facts.check.own_directories.push_back(store.substr(0, store.rfind('/', slash - 1)));
  }
  CeilingGate ceiling(OptionOr(argc, argv, "--policy", dialect::kCeilingDirectory), facts.check);
  if (const Status status = ceiling.Check(); !status.ok()) return Fail(status);
  auto reviewed = ReviewedCells::Open(kAuditFd);
  if (!reviewed.ok()) return Fail(reviewed.status());
  auto log = audit::LogStore::Open(UniqueFd(kAuditFd));
  if (!log.ok()) return Fail(Internal("open the audit log: " + log.status().message()));
  AuditLog audit(std::move(*log));
  audit.Add(StartRecord(kVersion));
  const std::string run = OptionOr(argc, argv, "--run", "");
  const HostLink host(wire::HostSocket(run));
  Broker broker(&root, std::move(*hello), facts, &ceiling, &audit, &host,
                run + egress_wire::kBrokerSocket);
  SupervisorService service(&broker, &*reviewed);
  ChangesService changes(&broker, &*reviewed);
  EgressService egress(&broker);

  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  builder.RegisterService(&changes);
  builder.RegisterService(&egress);
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  const std::unique_ptr<grpc::Server> server = rpc::StartWithHealth(
      &builder, {v1::Supervisor::service_full_name(), v1::Changes::service_full_name(),
                 v1::Egress::service_full_name()});
  if (server == nullptr) return Fail(Internal("start the gRPC server"));

  rpc::PeerListener listener(UniqueFd(kListenerFd), server.get(), AllowedClients(argc, argv));
  Status status = root.SendReady();
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
  return odyssey::supervisor::Serve(argc, argv);
}
