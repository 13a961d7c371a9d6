#include <algorithm>

#include "policy/foreign/gaps.h"
#include "policy/foreign/writers.h"
#include "policy/model/default_limits.h"
#include "policy/plan/plan.h"

namespace odyssey::foreign {
namespace {

const Lacks& LacksOf() {
  static const Lacks lacks = {
      .programs = {Effect::kDifferent, "the programs are the image's"},
      .no_exec = {Effect::kWeaker, "Docker has no noexec for a bind"},
      .workspace = {Effect::kStricter, "it is in memory, and gone with the container"},
      .files = {Effect::kWeaker, "Docker tells no files of a directory apart"},
      .review = {Effect::kStricter, "Docker has no writes on a copy: it is read-only"},
      .protect =
          {Effect::kWeaker,
           "a bind of a missing name would make it on the host; add -v NAME:NAME:ro by hand"},
      .deny = {Effect::kWeaker, "Docker hides no names"},
      .full = {Effect::kStricter, "the host's network ends the container's isolation: none"},
      .endpoints = {Effect::kStricter, "Docker's networks know no endpoints: none"},
      .providers = {Effect::kStricter, "there is no broker that uses them"},
      .confinement = {Effect::kWeaker,
                      "uids are the host's unless the daemon remaps them; no Landlock; no audit"},
      .limits = {
          {"wall_clock_ms", {Effect::kWeaker, "docker exec has no bound of time"}},
          {"disk_bytes", {Effect::kWeaker, "of most storage drivers it cannot be bounded"}}}};
  return lacks;
}

std::string Cores(uint32_t millis) {
  std::string out = std::to_string(millis / 1000);
  if (millis % 1000 == 0) return out;
  const std::string part = std::to_string(1000 + millis % 1000).substr(1);
  return out + "." + part.substr(0, part.find_last_not_of('0') + 1);
}

// "-v" takes no colon in a path.
Status CheckVolume(const Place& place) {
  for (const std::string& path : {place.source, place.target}) {
    if (path.find(':') != std::string::npos) {
      return InvalidArgument("mount " + path + ": a volume of docker run cannot have a colon");
    }
  }
  return OkStatus();
}

std::string Volume(const Place& place) {
  return "  -v " + ShellWord(place.source + ":" + place.target + (place.writable ? "" : ":ro")) +
         " \\\n";
}

}  // namespace

Result<Written> WriteDockerRun(const policy::SandboxRequest& request, const Variables& secrets) {
  const policy::Limits limits = policy::WithDefaults(request.limits);
  const std::string& image = request.image.reference;
  std::string text = "#!/bin/sh\n# usage: " + std::string(image.empty() ? "IMAGE=… " : "") +
                     "sh FILE; then docker exec -w /workspace \"$NAME\" COMMAND\n"
                     "exec docker run --rm --detach --name \"${NAME:-odyssey-cell}\" \\\n"
                     "  --cap-drop ALL --security-opt no-new-privileges \\\n  --network none \\\n";
  const std::vector<Place> places = PlacesOf(request);
  for (const Place& place : places) ODY_RETURN_IF_ERROR(CheckVolume(place));
  const std::string size = limits.tmp_bytes > 0 ? ",size=" + std::to_string(limits.tmp_bytes) : "";
  text += request.workspace.empty() ? "  --tmpfs " + std::string(plan::kWorkspacePath) +
                                          ":exec,mode=1777" + size + " \\\n"
                                    : Volume(places[0]);
  text += "  --tmpfs /tmp:noexec" + size + " \\\n";
  text += "  --memory " + std::to_string(limits.memory_bytes) + " \\\n";
  text += "  --cpus " + Cores(limits.cpu_millis) + " \\\n";
  const std::string user = image.empty()
                               ? std::to_string(request.user == 0 ? plan::kCellUser : request.user)
                               : request.image.user;
  if (!user.empty()) text += "  --user " + ShellWord(user) + " \\\n";
  text += "  --pids-limit " + std::to_string(limits.pids) + " --read-only \\\n";
  const auto bound = [&](std::string_view name, uint64_t value) {
    if (value > 0)
      text += "  --ulimit " + std::string(name) + "=" + std::to_string(value) + " \\\n";
  };
  bound("cpu", limits.cpu_seconds);
  bound("nofile", limits.open_files);
  bound("fsize", limits.file_bytes);
  for (const auto& [name, value] : request.env) {
    const auto secret = secrets.find(name);
    text += secret == secrets.end() ? "  -e " + ShellWord(name + "=" + value) + " \\\n"
                                    : "  -e " + name + "=\"$" + secret->second + "\" \\\n";
  }
  for (size_t i = request.workspace.empty() ? 0 : 1; i < places.size(); ++i) {
    text += Volume(places[i]);
  }
  text += "  " + (image.empty() ? "\"${IMAGE:?the image to run}\"" : ShellWord(image)) +
          " sleep infinity\n";
  return Written{.text = std::move(text), .comment = "#", .gaps = GapsOf(request, LacksOf())};
}

}  // namespace odyssey::foreign
