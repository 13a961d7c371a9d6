// Which paths of an OpenShell policy a cell has of its own, and which it has to be given. The
// policy speaks of an image's file tree; a cell's consists of the host's programs and of what it is
// given, so that most of what such policies list is there without being asked for.

#include <algorithm>

#include "policy/dialect/openshell.h"
#include "policy/dialect/path_text.h"

namespace odyssey::dialect::openshell {
namespace {

using policy::Access;

// Shown read-only to every cell, whole.
constexpr std::string_view kSystemTrees[] = {"/usr",   "/bin",   "/sbin",   "/lib",
                                             "/lib32", "/lib64", "/libx32", "/opt"};
constexpr std::string_view kDevices[] = {"/dev/full",   "/dev/null",   "/dev/ptmx",  "/dev/pts",
                                         "/dev/random", "/dev/stderr", "/dev/stdin", "/dev/stdout",
                                         "/dev/fd",     "/dev/shm",    "/dev/tty",   "/dev/urandom",
                                         "/dev/zero"};
// Every cell has its own, writable.
constexpr std::string_view kOwnWritable[] = {"/var/tmp", "/workspace", "/cell"};
constexpr std::string_view kNeverShown[] = {"/dev", "/sys", "/run", "/boot", "/.odyssey"};
constexpr std::string_view kTooBroad[] = {"/home", "/root", "/var"};
constexpr std::string_view kImageWorkdir = "/sandbox";

template <size_t N>
bool IsIn(const std::string& path, const std::string_view (&directories)[N]) {
  return std::any_of(std::begin(directories), std::end(directories),
                     [&](std::string_view directory) { return IsAtOrBelow(path, directory); });
}

template <size_t N>
bool IsOneOf(const std::string& path, const std::string_view (&paths)[N]) {
  return std::find(std::begin(paths), std::end(paths), path) != std::end(paths);
}

// Whether the cell has the path by itself. Reports what it cannot have.
bool IsOwn(const Path& path, const Source& source) {
  const bool write = path.access == Access::kReadWrite;
  const auto refuse = [&](const std::string& why) {
    source.Invalid(path.line, path.key, "`" + path.path + "` " + why);
    return true;
  };
  if (IsIn(path.path, kDevices) || IsIn(path.path, kOwnWritable) || path.path == "/tmp") {
    return true;
  }
  if (IsIn(path.path, kSystemTrees) || IsAtOrBelow(path.path, "/proc")) {
    return write ? refuse("is never writable: it is the system's") : true;
  }
  if (IsAtOrBelow(path.path, "/etc")) {
    if (write) return refuse("is never writable: the cell has an /etc of its own");
    if (path.path != "/etc") {
      source.Warn(path.line, path.key,
                  "`" + path.path + "` is not the host's: the cell has an /etc of its own");
    }
    return true;
  }
  if (path.path == "/var/log" && !write) return true;  // empty: logs of the host stay there
  if (path.path == "/dev" && !write) return true;
  if (IsIn(path.path, kNeverShown)) {
    return refuse("is never shown: nothing of /dev, /sys, /run and /boot is, but " +
                  std::string("/dev/null and its like"));
  }
  return IsOneOf(path.path, kTooBroad) ? refuse("is too broad: name a directory below it") : false;
}

// The path that is the innermost around another one.
const Path* Around(const Path& path, const std::vector<Path>& paths) {
  const Path* around = nullptr;
  for (const Path& other : paths) {
    if (path.path == other.path || !IsAtOrBelow(path.path, other.path)) continue;
    if (around == nullptr || other.path.size() >= around->path.size()) around = &other;
  }
  return around;
}

// A path below another one with the same access adds nothing; one with another is a part of it.
bool IsCovered(const Path& path, const std::vector<Path>& paths, const Source& source) {
  const Path* const around = Around(path, paths);
  if (around != nullptr && around->access == path.access) return true;
  for (const Path& other : paths) {
    if (&other == &path || path.path != other.path) continue;
    const bool wider = other.access == Access::kReadWrite || path.access == Access::kReadOnly;
    if (!wider) continue;
    // Twice: the writable one counts, else the first.
    if (other.access != path.access) {
      source.Warn(path.line, path.key,
                  "`" + path.path + "` is writable all the same: it is in `read_write` too");
      return true;
    }
    if (&other < &path) return true;
  }
  return false;
}

// What stands in for a path that is not there. hard_requirement refuses, as it promises.
bool IsMissing(const Path& path, const Document& document, const PathFacts& facts,
               const Source& source) {
  if (facts.exists) return false;
  const bool workdir = path.path == kImageWorkdir;
  if (document.landlock == policy::Landlock::kHardRequirement && !workdir) {
    source.Invalid(path.line, path.key,
                   "`" + path.path +
                       "` does not exist on this host, and landlock.compatibility is "
                       "hard_requirement");
    return true;
  }
  source.Warn(path.line, path.key,
              "`" + path.path + "` does not exist on this host: left out" +
                  (workdir ? "; the working directory of a cell is /workspace" : ""));
  return true;
}

void AddPaths(const Document& document, const Source& source, const PolicyContext& context,
              Policy* out) {
  std::vector<policy::Mount>& mounts = out->request.mounts;
  std::vector<Path> given;
  for (const Path& path : document.paths) {
    if (!IsOwn(path, source)) given.push_back(path);
  }
  for (const Path& path : given) {
    if (IsCovered(path, given, source)) continue;
    if (IsMissing(path, document, context.Look(path.path), source)) continue;
    out->origins.Add("mounts[" + std::to_string(mounts.size()) + "]",
                     {source.file, path.line, path.key});
    mounts.push_back({.source = path.path,
                      .target = path.path,
                      .access = path.access,
                      .executable = path.access == Access::kReadOnly});
  }
}

}  // namespace

void AddRequest(const Document& document, const Source& source, const PolicyContext& context,
                Policy* out) {
  policy::SandboxRequest& request = out->request;
  out->origins = document.origins;
  AddPaths(document, source, context, out);
  if (document.include_workdir) {
    request.workspace = context.client_cwd;
    if (request.workspace.empty()) {
      source.Invalid(document.origins.Find("workspace")->line, "filesystem_policy.include_workdir",
                     "is the client's directory, and the client named none");
    }
  }
  request.landlock = document.landlock.value_or(policy::Landlock::kHardRequirement);
  request.user = document.user;
  request.egress = document.network;
  out->elsewhere = Describe(document.network);
  const auto& rules = document.network.rules;
  const bool egress = std::any_of(rules.begin(), rules.end(),
                                  [](const egress::Rule& rule) { return !rule.endpoints.empty(); });
  if (egress) request.network = policy::Network::kEgress;
}

}  // namespace odyssey::dialect::openshell
