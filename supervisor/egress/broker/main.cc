// odyssey-egress --run DIR --client-uid UID [--state DIR] [--config DIR] [--credentials DIR]
// [--certificates FILE] [--limit NAME=N]… [--upstream-proxy ADDRESS:PORT
// [--upstream-proxy-authorization FILE]]: the broker of cells with egress. A user of its own,
// without capabilities. Serves the sockets DIR/egress/egress.sock and providers.sock, whose
// directory it may write, and keeps users' providers in its state.

#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "common/os/file.h"
#include "common/os/notify_socket.h"
#include "common/os/open_files.h"
#include "common/os/stdio.h"
#include "common/os/unix_listener.h"
#include "supervisor/egress/broker/cell_server.h"
#include "supervisor/egress/broker/provider_server.h"

namespace odyssey::egress {
namespace {

constexpr size_t kMaxAuthorizationBytes = 4096;
constexpr char kUsage[] =
    "usage: odyssey-egress --run DIR --client-uid UID [--state DIR] [--config DIR] "
    "[--credentials DIR] [--certificates FILE] [--limit NAME=N]… "
    "[--upstream-proxy ADDRESS:PORT [--upstream-proxy-authorization FILE]]";

struct Options {
  std::string run;
  std::set<uid_t> clients;
  std::string state, credentials;
  Limits limits;
  std::optional<UpstreamProxy> proxy;
  std::string certificates = "/etc/ssl/certs/ca-certificates.crt";
  InferenceFiles inference{.directory = "/etc/odyssey"};
};

// A name or a number.
Result<uid_t> UserOf(const std::string& text) {
  if (!text.empty() && text.find_first_not_of("0123456789") == std::string::npos) {
    return static_cast<uid_t>(strtoul(text.c_str(), nullptr, 10));
  }
  const passwd* entry = getpwnam(text.c_str());
  if (entry != nullptr) return entry->pw_uid;
  return InvalidArgument("--client-uid " + text + ": there is no such user");
}

Result<Options> ReadOptions(int argc, char** argv) {
  Options out;
  // Of systemd, unless --credentials says another.
  if (const char* given = getenv("CREDENTIALS_DIRECTORY")) out.credentials = given;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--run") {
      out.run = argv[i + 1];
    } else if (name == "--client-uid") {
      ODY_ASSIGN_OR_RETURN(const uid_t uid, UserOf(argv[i + 1]));
      out.clients.insert(uid);
    } else if (name == "--certificates") {
      out.certificates = argv[i + 1];
    } else if (name == "--state") {
      out.state = argv[i + 1];
    } else if (name == "--credentials") {
      out.credentials = argv[i + 1];
    } else if (name == "--config") {
      out.inference.directory = argv[i + 1];
    } else if (name == "--upstream-proxy") {
      ODY_ASSIGN_OR_RETURN(const auto address, ParseProxyAddress(argv[i + 1]));
      if (!out.proxy) out.proxy.emplace();
      out.proxy->address = address;
    } else if (name == "--upstream-proxy-authorization") {
      ODY_ASSIGN_OR_RETURN(std::string text, ReadFile(argv[i + 1], kMaxAuthorizationBytes));
      if (!out.proxy) out.proxy.emplace();
      ODY_ASSIGN_OR_RETURN(out.proxy->authorization, ProxyAuthorization(std::move(text)));
    } else if (name == "--limit") {
      ODY_RETURN_IF_ERROR(SetLimit(argv[i + 1], &out.limits));
    } else {
      return InvalidArgument(name + ": unknown; " + kUsage);
    }
  }
  out.inference.credentials = out.credentials;
  if (out.proxy && out.proxy->address.port() == 0) {
    return InvalidArgument("--upstream-proxy-authorization: --upstream-proxy is missing");
  }
  if (argc % 2 == 1 && !out.run.empty() && !out.clients.empty()) return out;
  return InvalidArgument(kUsage);
}

Status CheckPeer(int socket, const std::set<uid_t>& clients) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return ErrnoStatus(errno, "ask who connects");
  }
  if (clients.count(peer.uid) != 0) return OkStatus();
  return PermissionDenied("uid " + std::to_string(peer.uid) + " may not use odyssey-egress");
}

// Those that were started, and may have ended.
using Cells = std::vector<std::weak_ptr<CellServer>>;

asio::awaitable<void> Accept(const BrokerParts& parts, UniqueFd listener, std::set<uid_t> clients,
                             Cells* cells) {
  asio::posix::stream_descriptor ready(*parts.loop, listener.release());
  for (;;) {
    boost::system::error_code error;
    co_await ready.async_wait(asio::posix::stream_descriptor::wait_read,
                              asio::redirect_error(asio::use_awaitable, error));
    UniqueFd socket(accept4(ready.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
      // Out of descriptors, say: the connection waits in the kernel's queue.
      asio::steady_timer pause(*parts.loop, std::chrono::milliseconds(50));
      co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
      continue;
    }
    const Status allowed = CheckPeer(socket.get(), clients);
    if (!allowed.ok()) {
      fprintf(stderr, "<4>odyssey-egress: %s\n", allowed.message().c_str());
      continue;
    }
    const auto cell = std::make_shared<CellServer>(parts, std::move(socket));
    std::erase_if(*cells, [](const auto& known) { return known.expired(); });
    cells->push_back(cell);
    asio::co_spawn(*parts.loop, cell->Run(), asio::detached);
  }
}

// The loop runs, again and again.
asio::awaitable<void> ReportAlive(const NotifySocket& manager) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  for (;;) {
    manager.Alive();
    timer.expires_after(manager.alive_period());
    co_await timer.async_wait(asio::use_awaitable);
  }
}

Status Serve(const Options& options) {
  asio::io_context loop(1);
  ODY_ASSIGN_OR_RETURN(const auto names, NameLookup::Make(&loop));
  const std::string path = options.run + egress_wire::kBrokerSocket;
  const std::string providers_path = options.run + provider_wire::kSocket;
  ODY_ASSIGN_OR_RETURN(ProviderStore store,
                       ProviderStore::Open(options.state, options.credentials));
  Cells cells;
  ProviderServer providers(&loop, &store, [&cells](uid_t owner) {
    for (const auto& known : cells) {
      if (const auto cell = known.lock()) cell->OnProviderChanged(owner);
    }
  });
  ODY_ASSIGN_OR_RETURN(UniqueFd listener, ListenUnix(path, 0666, SOCK_SEQPACKET));
  ODY_ASSIGN_OR_RETURN(UniqueFd asked, ListenUnix(providers_path, 0666, SOCK_SEQPACKET));
  const WorkerProgram worker{.path = std::filesystem::read_symlink("/proc/self/exe").parent_path() /
                                     "odyssey-egress-worker",
                             .certificates = options.certificates,
                             .limits = options.limits};
  Shares shares(options.limits);
  const Dialer dialer(&loop, options.proxy);
  if (access(worker.path.c_str(), X_OK) != 0) return ErrnoStatus(errno, worker.path);
  asio::co_spawn(loop, providers.Run(std::move(asked)), asio::detached);
  const BrokerParts parts{.loop = &loop,
                          .names = names.get(),
                          .dialer = &dialer,
                          .shares = &shares,
                          .providers = &store,
                          .routes = &options.inference,
                          .worker = &worker};
  asio::co_spawn(loop, Accept(parts, std::move(listener), options.clients, &cells), asio::detached);
  asio::signal_set stop(loop, SIGTERM, SIGINT);
  stop.async_wait([&loop](const auto&, int) { loop.stop(); });
  const NotifySocket manager = NotifySocket::FromEnvironment();
  if (manager.alive_period().count() > 0) {
    asio::co_spawn(loop, ReportAlive(manager), asio::detached);
  }
  printf("ready\n");
  fflush(stdout);
  manager.Ready();
  loop.run();
  unlink(path.c_str());
  unlink(providers_path.c_str());
  return OkStatus();
}

int Main(int argc, char** argv) {
  RaiseOpenFiles();
  Result<Options> options = ReadOptions(argc, argv);
  const Status status = options.ok() ? Serve(*options) : options.status();
  if (status.ok()) _exit(0);
  fprintf(stderr, "<3>odyssey-egress: %s\n", status.message().c_str());
  _exit(1);
}

}  // namespace
}  // namespace odyssey::egress

[[gnu::section(".preinit_array"), gnu::used]] void (*const kFirst)() = odyssey::OpenMissingStdio;

int main(int argc, char** argv) {
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGCHLD, SIG_IGN);  // workers leave no zombies
  return odyssey::egress::Main(argc, argv);
}
