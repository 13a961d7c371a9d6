// odyssey-start [--directory DIR] [--print] DAEMON [ARGUMENT…]: executes a daemon with the options
// that its settings in DIR (/etc/odyssey) say, then ARGUMENT…; with --print, prints them instead,
// each with a NUL after it. Run by units, as the daemon's user: so that no daemon, and not root's,
// parses YAML for its settings. Exits with 78 (EX_CONFIG) if something is wrong in the files.
//
// A socket that systemd listens on (LISTEN_FDS) becomes the daemon's --listen-fd. agentd gets
// --settings, for SIGHUP; odyssey-supervisor-rpc, which has no environment, systemd's NOTIFY_SOCKET
// and WATCHDOG_USEC as options.

#include <fcntl.h>
#include <stdlib.h>
#include <sysexits.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <vector>

#include "common/os/environment.h"
#include "common/os/file.h"
#include "common/os/stdio.h"
#include "ctl/settings/settings_reader.h"

namespace odyssey::ctl {
namespace {

struct Request {
  std::string directory = kSettingsDirectory;
  bool print = false;
  std::string daemon;
  std::vector<std::string> more;
};

Result<Request> ReadRequest(const std::vector<std::string>& words) {
  Request out;
  size_t i = 0;
  for (; i < words.size() && words[i].compare(0, 2, "--") == 0; ++i) {
    if (words[i] == "--print") {
      out.print = true;
    } else if (words[i] == "--directory" && i + 1 < words.size()) {
      out.directory = words[++i];
    } else {
      return InvalidArgument(words[i] + ": expected --directory DIR or --print");
    }
  }
  if (i == words.size()) {
    return InvalidArgument("usage: odyssey-start [--directory DIR] [--print] DAEMON [ARGUMENT…]");
  }
  out.daemon = words[i];
  out.more.assign(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
  return out;
}

// The descriptor of the one socket that systemd passed; -1: none.
Result<int> TakeListener() {
  const std::string pid = TakeVariable("LISTEN_PID");
  const std::string count = TakeVariable("LISTEN_FDS");
  TakeVariable("LISTEN_FDNAMES");
  if (count.empty() || pid != std::to_string(getpid())) return -1;
  if (count != "1") return InvalidArgument("LISTEN_FDS " + count + ": expected 1 socket");
  constexpr int kFirst = 3;  // sd_listen_fds(3)
  const int flags = fcntl(kFirst, F_GETFL);
  if (flags < 0 || fcntl(kFirst, F_SETFL, flags | O_NONBLOCK) != 0) {
    return ErrnoStatus(errno, "use the socket of LISTEN_FDS");
  }
  return kFirst;
}

// What the service manager gives to this daemon.
Result<std::vector<std::string>> ManagersArguments(const Request& request) {
  std::vector<std::string> out;
  if (request.daemon == "agentd") out = {"--settings", request.directory};
  ODY_ASSIGN_OR_RETURN(const int listener, TakeListener());
  if (listener >= 0) {
    out.insert(out.end(), {"--listen-fd", std::to_string(listener)});
  }
  if (request.daemon != "supervisor") return out;
  const std::string socket = TakeVariable("NOTIFY_SOCKET");
  const std::string usec = TakeVariable("WATCHDOG_USEC");
  if (!socket.empty()) out.insert(out.end(), {"--notify", socket});
  if (!usec.empty()) out.insert(out.end(), {"--watchdog-usec", usec});
  return out;
}

// The daemon's name, then its arguments; `managers` are the last.
Result<std::vector<std::string>> CommandOf(const Request& request,
                                           const std::vector<std::string>& managers) {
  ODY_ASSIGN_OR_RETURN(const DaemonSettings* daemon, FindDaemon(request.daemon));
  ODY_ASSIGN_OR_RETURN(std::vector<SettingValue> values, ReadSettings(*daemon, request.directory));
  dialect::Problems problems;
  std::vector<std::string> out = ToArguments(WithDefaults(*daemon, std::move(values)), &problems);
  if (!problems.empty()) return dialect::ToStatus(problems);
  out.insert(out.end(), request.more.begin(), request.more.end());
  out.insert(out.end(), managers.begin(), managers.end());
  out = WithRpcLast(request.daemon, out);
  out.insert(out.begin(), std::string(daemon->program));
  return out;
}

Status Execute(std::vector<std::string> command) {
  ODY_ASSIGN_OR_RETURN(const std::string directory, ProgramDirectory());
  const std::string path = directory + "/" + command.front();
  std::vector<char*> argv;
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  execv(path.c_str(), argv.data());
  return ErrnoStatus(errno, "execute " + path);
}

int Run(const std::vector<std::string>& words) {
  const auto fail = [](int code, const Status& status) {
    std::fprintf(stderr, "<3>odyssey-start: %s\n", status.message().c_str());
    return code;
  };
  const Result<Request> request = ReadRequest(words);
  if (!request.ok()) return fail(EX_USAGE, request.status());
  Result<std::vector<std::string>> managers = std::vector<std::string>();
  if (!request->print) managers = ManagersArguments(*request);
  if (!managers.ok()) return fail(EX_OSERR, managers.status());
  Result<std::vector<std::string>> command = CommandOf(*request, *managers);
  if (!command.ok()) return fail(EX_CONFIG, command.status());
  if (!request->print) return fail(EX_OSERR, Execute(*std::move(command)));
  for (size_t i = 1; i < command->size(); ++i) {
    std::fwrite((*command)[i].c_str(), 1, (*command)[i].size() + 1, stdout);
  }
  return std::fflush(stdout) == 0 ? 0 : fail(EX_IOERR, ErrnoStatus(errno, "write"));
}

}  // namespace
}  // namespace odyssey::ctl

[[gnu::section(".preinit_array"), gnu::used]] void (*const kFirst)() = odyssey::OpenMissingStdio;

int main(int argc, char** argv) noexcept {
  return odyssey::ctl::Run(std::vector<std::string>(argv + 1, argv + argc));
}
