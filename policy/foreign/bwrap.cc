#include "policy/executables/etc_list.h"
#include "policy/foreign/gaps.h"
#include "policy/foreign/writers.h"
#include "policy/model/default_limits.h"
#include "policy/plan/plan.h"
#include "policy/plan/plan_check.h"

namespace odyssey::foreign {
namespace {

const Lacks& LacksOf() {
  static const Lacks lacks = {
      .programs = {Effect::kWeaker, "bwrap tells no programs apart: all of the system's run"},
      .image = kNoImage,
      .no_exec = {Effect::kWeaker, "bwrap has no noexec for a bind"},
      .workspace = {Effect::kStricter, "it is in memory, and gone when the command ends"},
      .files = {Effect::kWeaker, "bwrap tells no files of a directory apart"},
      .review = {Effect::kStricter, "bwrap has no writes on a copy: it is read-only"},
      .deny = {Effect::kWeaker, "bwrap hides no names"},
      .endpoints = {Effect::kStricter, "bwrap has the host's network or none: none"},
      .providers = {Effect::kStricter, "there is no broker that uses them"},
      .confinement = {Effect::kWeaker,
                      "no seccomp filter, no Landlock, no uid of its own on the host, no audit"},
      .limits = {{"memory_bytes",
                  {Effect::kWeaker,
                   "bwrap makes no control group; start the script below systemd-run --scope -p "
                   "MemoryMax=BYTES"}},
                 {"cpu_millis", {Effect::kWeaker, "likewise, -p CPUQuota=PERCENT"}},
                 {"pids", {Effect::kWeaker, "likewise, -p TasksMax=N"}},
                 {"disk_bytes", {Effect::kWeaker, "bwrap bounds no disk"}}}};
  return lacks;
}

// "  --option word word \\\n"
class Command final {
 public:
  template <typename... Words>
  void Add(std::string_view option, const Words&... words) {
    out_ += "  " + std::string(option);
    ((out_ += " " + ShellWord(words)), ...);
    out_ += " \\\n";
  }
  // A word that the shell is to expand.
  void AddExpanded(std::string_view option, std::string_view name, const std::string& variable) {
    out_ += "  " + std::string(option) + " " + ShellWord(name) + " \"$" + variable + "\" \\\n";
  }
  std::string Take() { return std::move(out_); }

 private:
  std::string out_;
};

std::string Prefix(const policy::Limits& limits) {
  std::string out = "exec ";
  if (limits.wall_clock_ms > 0) {
    out += "timeout --kill-after=1 " + std::to_string((limits.wall_clock_ms + 999) / 1000) + " ";
  }
  std::string bounds;
  const auto bound = [&](std::string_view name, uint64_t value) {
    if (value > 0) bounds += "--" + std::string(name) + "=" + std::to_string(value) + " ";
  };
  bound("cpu", limits.cpu_seconds);
  bound("nofile", limits.open_files);
  bound("fsize", limits.file_bytes);
  return bounds.empty() ? out : out + "prlimit " + bounds;
}

void AddSystem(Command* command) {
  for (const std::string& tree : plan::SystemTrees()) {
    command->Add("--ro-bind-try", tree, tree);
  }
  for (const executables::EtcPath& etc : executables::kShownOfEtc) {
    command->Add("--ro-bind-try", etc.path, etc.path);
  }
}

void AddPlaces(const policy::SandboxRequest& request, const policy::Limits& limits,
               Command* command) {
  const std::string_view size = "--size";
  const std::string tmp = std::to_string(limits.tmp_bytes);
  const auto memory = [&](std::string_view target) {
    if (limits.tmp_bytes > 0) command->Add(size, tmp);
    command->Add("--tmpfs", target);
  };
  memory("/tmp");
  memory("/home");
  if (request.workspace.empty()) memory(plan::kWorkspacePath);
  for (const Place& place : PlacesOf(request)) {
    command->Add(place.writable ? "--bind" : "--ro-bind", place.source, place.target);
    if (!place.writable) continue;
    for (const std::string& name : ProtectedIn(request)) {
      command->Add("--ro-bind-try", place.source + "/" + name, place.target + "/" + name);
    }
  }
}

}  // namespace

Result<Written> WriteBwrap(const policy::SandboxRequest& request, const Variables& secrets) {
  const policy::Limits limits = policy::WithDefaults(request.limits);
  const std::string user = std::to_string(request.user == 0 ? plan::kCellUser : request.user);
  Command command;
  command.Add("--unshare-all");
  if (request.network == policy::Network::kFull) command.Add("--share-net");
  command.Add("--die-with-parent");
  command.Add("--new-session");
  command.Add("--cap-drop", std::string_view("ALL"));
  command.Add("--uid", user);
  command.Add("--gid", user);
  command.Add("--hostname", std::string_view("cell"));
  AddSystem(&command);
  if (request.network == policy::Network::kFull) {
    for (const char* const file : {"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf"}) {
      command.Add("--ro-bind-try", std::string_view(file), std::string_view(file));
    }
  }
  command.Add("--proc", std::string_view("/proc"));
  command.Add("--dev", std::string_view("/dev"));
  AddPlaces(request, limits, &command);
  command.Add("--chdir", std::string_view(plan::kWorkspacePath));
  command.Add("--clearenv");
  command.Add("--setenv", std::string_view("PATH"),
              std::string_view("/usr/local/bin:/usr/bin:/bin"));
  command.Add("--setenv", std::string_view("HOME"), std::string_view("/home"));
  for (const auto& [name, value] : request.env) {
    const auto secret = secrets.find(name);
    if (secret == secrets.end()) {
      command.Add("--setenv", name, value);
    } else {
      command.AddExpanded("--setenv", name, secret->second);
    }
  }
  return Written{.text = "#!/bin/sh\n# usage: sh FILE COMMAND [ARGUMENT]...\n" + Prefix(limits) +
                         "bwrap \\\n" + command.Take() + "  -- \"$@\"\n",
                 .comment = "#",
                 .gaps = GapsOf(request, LacksOf())};
}

}  // namespace odyssey::foreign
