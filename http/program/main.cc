// odyssey-http: HTTP and server-sent events for odyssey-agentd.

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/os/atomic_file.h"
#include "common/os/file.h"
#include "common/os/notify_socket.h"
#include "common/os/stdio.h"
#include "common/rpc/peer_refusal.h"
#include "http/api/openapi.h"
#include "http/front/server.h"
#include "http/head/access.h"
#include "http/program/options.h"

namespace odyssey::program {
namespace {

// For systemd's journal, as sd-daemon(3) has it.
void Log(int priority, const std::string& line) {
  std::fprintf(stderr, "<%d>http: %s\n", priority, line.c_str());
}

Result<UniqueFd> TakeListener(const Options& options) {
  if (options.listener < 0) return front::Listen(options.listen);
  UniqueFd listener(options.listener);
  fcntl(listener.get(), F_SETFD, FD_CLOEXEC);
  fcntl(listener.get(), F_SETFL, fcntl(listener.get(), F_GETFL) | O_NONBLOCK);
  return listener;
}

Status Run(const Options& options) {
  // Nothing that it could be made to execute gains a right by that.
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return ErrnoStatus(errno, "set no_new_privs");
  signal(SIGPIPE, SIG_IGN);
  const NotifySocket manager = NotifySocket::FromEnvironment();
  ODY_ASSIGN_OR_RETURN(UniqueFd listener, TakeListener(options));
  ODY_ASSIGN_OR_RETURN(const front::Address address, front::AddressOf(listener.get()));
  ODY_RETURN_IF_ERROR(CheckAddress(address, options));
  front::Server::Options serve = {.agentd_socket = options.agentd_socket,
                                  .names = head::LoopbackNames(),
                                  .version = ODYSSEY_VERSION,
                                  .mcp_bundle = options.mcp_bundle,
                                  .alive_period = manager.alive_period(),
                                  .alive = [&manager] { manager.Alive(); }};
  serve.names.insert(options.host_names.begin(), options.host_names.end());
  front::Server server(std::move(listener), std::move(serve));
  const std::string text = front::AddressText(address);
  if (!options.address_file.empty()) {
    ODY_RETURN_IF_ERROR(WriteFileAtomically(options.address_file, text + "\n", 0644));
  }
  const std::string refused = rpc::AskWhetherRefused(options.agentd_socket);
  if (!refused.empty()) {
    Log(4, "agentd refuses this process: " + refused + "; start it with --http-uid " +
               std::to_string(getuid()));
  }
  Log(6, "serves http://" + text + " agentd=" + options.agentd_socket);
  ODY_RETURN_IF_ERROR(WriteAll(STDOUT_FILENO, "ready\n"));
  manager.Ready();
  server.Run();
  manager.Stopping();
  Log(6, "stops");
  if (!options.address_file.empty()) unlink(options.address_file.c_str());
  return OkStatus();
}

int Main(const std::vector<std::string>& arguments) {
  const Result<Options> options = ParseOptions(arguments);
  if (!options.ok()) {
    std::fprintf(stderr, "odyssey-http: %s\n", options.status().message().c_str());
    return 2;
  }
  if (options->help || options->version) {
    std::fputs(options->help ? Usage().c_str() : "odyssey-http " ODYSSEY_VERSION "\n", stdout);
    return 0;
  }
  const Status run = Run(*options);
  if (!run.ok()) Log(3, run.message());
  return run.ok() ? 0 : 1;
}

}  // namespace
}  // namespace odyssey::program

[[gnu::section(".preinit_array"), gnu::used]] void (*const kFirst)() = odyssey::OpenMissingStdio;

int main(int argc, char** argv) {
  return odyssey::program::Main(std::vector<std::string>(argv + 1, argv + argc));
}
