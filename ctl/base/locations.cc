#include "ctl/base/locations.h"

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string_view>
#include <utility>

namespace odyssey::ctl {
namespace {

constexpr char kSystemRun[] = "/run/odyssey/";
constexpr char kRootsState[] = "/var/lib/odyssey";  // of `up` that root ran without --state

std::string Absolute(const std::string& path, const std::string& cwd) {
  std::string out = std::filesystem::path(cwd).append(path).lexically_normal().string();
  while (out.size() > 1 && out.back() == '/') out.pop_back();
  return out;
}

// Of an ordinary user: where daemons of the user's own are, else root's that serve the user too.
std::string DefaultState(const LocationInputs& in) {
  const std::string home = in.environment("HOME");
  if (in.is_root || home.empty()) return kRootsState;
  const std::string own = home + "/.odyssey";
  for (const std::string& path :
       {own + "/run/agentd.sock", std::string(kSystemRun) + "agentd.sock"}) {
    if (in.exists(path)) return own;
  }
  return in.exists(std::string(kRootsState) + "/run/agentd.sock") ? kRootsState : own;
}

std::string Socket(const LocationInputs& in, const std::string& state, const std::string& name) {
  std::string path = state + "/run/" + name;
  if (in.state_option.empty() && !in.exists(path) && in.exists(kSystemRun + name)) {
    path = kSystemRun + name;
  }
  return path;
}

// The state directory of the supervisor that is meant; "" for the system's own.
std::string StateOfSupervisor(const LocationInputs& in, const std::string& supervisor_socket) {
  constexpr std::string_view kRun = "/run/supervisor.sock";
  const size_t size = supervisor_socket.size();
  const bool of_a_state =
      size > kRun.size() && supervisor_socket.substr(size - kRun.size()) == kRun;
  // A default that nothing serves on says nothing about which daemons there are.
  const bool meant = !in.state_option.empty() || in.exists(supervisor_socket);
  return of_a_state && meant ? supervisor_socket.substr(0, size - kRun.size()) : "";
}

std::string FirstOf(const std::string& a, const std::string& b) { return a.empty() ? b : a; }

}  // namespace

LocationInputs MakeLocationInputs(std::string state_option, std::string socket_option) {
  LocationInputs in;
  in.state_option = std::move(state_option);
  in.socket_option = std::move(socket_option);
  in.environment = [](const char* name) {
    const char* value = getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  in.exists = [](const std::string& path) { return access(path.c_str(), F_OK) == 0; };
  in.is_root = geteuid() == 0;
  std::error_code error;
  in.cwd = std::filesystem::current_path(error).string();
  return in;
}

Locations ResolveLocations(const LocationInputs& in) {
  Locations out;
  out.state = Absolute(FirstOf(in.state_option, DefaultState(in)), in.cwd);
  const std::string agentd = FirstOf(in.socket_option, in.environment("ODYSSEY_SOCKET"));
  out.agentd_socket =
      agentd.empty() ? Socket(in, out.state, "agentd.sock") : Absolute(agentd, in.cwd);
  const std::string supervisor = in.environment("ODYSSEY_SUPERVISOR_SOCKET");
  out.supervisor_socket =
      supervisor.empty() ? Socket(in, out.state, "supervisor.sock") : Absolute(supervisor, in.cwd);
  const std::string serving = StateOfSupervisor(in, out.supervisor_socket);
  out.policy_directory = serving.empty() ? "/etc/odyssey/policy.d" : serving + "/policy.d";
  const bool system = out.supervisor_socket == std::string(kSystemRun) + "supervisor.sock";
  const std::string state = system ? "/var/lib/odyssey" : FirstOf(serving, out.state);
  out.bundle_store = state + "/agentd/bundles/trees";
  return out;
}

}  // namespace odyssey::ctl
