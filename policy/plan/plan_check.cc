#include "policy/plan/plan_check.h"

#include <algorithm>
#include <span>

namespace odyssey::plan {
namespace {

using Paths = std::span<const std::string_view>;

// Made by root and bwrap themselves.
constexpr std::string_view kReservedTargets[] = {"/proc", "/dev", "/.odyssey"};
// Never shown, nor anything below: kernel interfaces, sockets, and the host's configuration.
constexpr std::string_view kForbiddenSources[] = {"/proc", "/sys", "/dev", "/run", "/boot", "/etc"};
// Too broad to show as a whole; what is below may be shown.
constexpr std::string_view kBroadSources[] = {"/", "/root", "/home", "/var", "/usr", "/tmp"};
// Never writable: programs and jobs that the host's root runs.
constexpr std::string_view kReadOnlySources[] = {"/usr",   "/bin",   "/sbin",   "/lib",
                                                 "/lib32", "/lib64", "/libx32", "/var/spool"};
constexpr std::string_view kResolverFiles[] = {
    "/etc/resolv.conf", "/run/systemd/resolve/stub-resolv.conf", "/run/systemd/resolve/resolv.conf",
    "/run/resolvconf/resolv.conf"};

bool IsOneOf(std::string_view path, Paths paths) {
  return std::find(paths.begin(), paths.end(), path) != paths.end();
}

bool IsWithinAny(std::string_view path, Paths directories) {
  return std::any_of(directories.begin(), directories.end(),
                     [&](std::string_view directory) { return IsWithin(path, directory); });
}

// No empty, "." or ".." component, no control character; without a leading slash.
bool AreComponents(std::string_view path) {
  if (path.empty() || path.size() > kMaxPath) return false;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return false;
    begin = end + 1;
  }
  return std::none_of(path.begin(), path.end(),
                      [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

bool IsCellId(std::string_view id) {
  return !id.empty() && id.size() <= kMaxCellId && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

Status CheckLimit(const char* field, uint64_t value, uint64_t max) {
  if (value == 0) return InvalidArgument(std::string("check plan: ") + field + " must be over 0");
  if (max == 0 || value <= max) return OkStatus();
  return PermissionDenied(std::string("check plan: ") + field + " " + std::to_string(value) +
                          "; at most " + std::to_string(max) + " is allowed");
}

Status CheckSystemTree(const Plan& plan, const CheckContext& context, const Entry& entry) {
  // With every owner unmapped, a cell reads what has the read bit of "other".
  const bool etc = entry.source.rfind("/etc/", 0) == 0 && !IsResolverFile(entry.source);
  const auto& trees = SystemTrees();
  const bool system = std::find(trees.begin(), trees.end(), entry.source) != trees.end() ||
                      IsWithin(entry.source, "/usr") || IsWithin(entry.source, "/opt") || etc;
  const bool resolver = plan.network == Network::kFull && entry.target == "/etc/resolv.conf" &&
                        IsResolverFile(entry.source);
  for (const std::string& own : context.own_directories) {
    if (IsWithin(own, entry.source)) return PermissionDenied(entry.source + " contains " + own);
  }
  if (entry.access == Access::kReadOnly && (system || resolver)) return OkStatus();
  return PermissionDenied(entry.source +
                          ": only the system's trees, and they read-only, may be unmapped");
}

Status CheckHostTree(const Plan& plan, const CheckContext& context, const Entry& entry) {
  if (!IsNormalizedAbsolute(entry.source)) {
    return InvalidArgument("source must be a normalised absolute path");
  }
  if (entry.ownership == Ownership::kUnmapped) return CheckSystemTree(plan, context, entry);
  if (!entry.changes.empty() && (entry.access != Access::kReadWrite || plan.cell_tree.empty() ||
                                 !AreComponents(entry.changes))) {
    return InvalidArgument("changes: only of a writable tree, as a directory of a cell_tree");
  }
  return CheckHostSource(entry.source, entry.access, context);
}

Status CheckSource(const Plan& plan, const CheckContext& context, const Entry& entry) {
  const auto fits = [](bool good) {
    return good ? OkStatus() : InvalidArgument("source or size_bytes does not fit the kind");
  };
  switch (entry.kind) {
    case EntryKind::kDirectory:
    case EntryKind::kPart:
      return fits(entry.source.empty());
    case EntryKind::kTmpfs:
      return fits(entry.source.empty() && entry.size_bytes != 0);
    case EntryKind::kSymlink:
      return fits(!entry.source.empty() && entry.source.find('\0') == std::string::npos);
    case EntryKind::kFile:
      return fits(entry.source.size() <= kMaxFileBytes);
    case EntryKind::kCellTree:
      return fits(AreComponents(entry.source));
    case EntryKind::kHostTree:
      return CheckHostTree(plan, context, entry);
  }
  return fits(false);
}

bool IsHostTree(const Entry& entry) {
  return entry.kind == EntryKind::kHostTree || entry.kind == EntryKind::kPart;
}

// A part takes rights away, but for execution, which only what the cell cannot write to may gain.
Status CheckPart(const Plan& plan, const Entry& part, const Entry* around) {
  if (around == nullptr && !plan.layers.empty()) {
    if (part.access == Access::kReadOnly) return OkStatus();
    return PermissionDenied("a part of the image must be read-only");
  }
  if (around == nullptr || !IsHostTree(*around)) {
    return InvalidArgument("a part must lie inside a host tree");
  }
  if (part.access > around->access) {
    return PermissionDenied("a part may not be writable in " + around->target);
  }
  if (part.executable && part.access == Access::kReadWrite && !around->executable) {
    return PermissionDenied("a writable part may not be executable in " + around->target);
  }
  return OkStatus();
}

// Root makes the target inside the nearest entry around it. Behind a link that could lead to a host
// tree that would change the host; a cell's tree takes its own sub-trees and a tmpfs. A host tree,
// and in a read-only one a tmpfs, may lie on what a host tree has: root makes nothing there
// (MountTree), and what is mounted on is in the cell's own mounts.
Status CheckPlace(const Plan& plan, size_t index) {
  const Entry& entry = plan.entries[index];
  const Entry* around = nullptr;
  for (size_t i = 0; i < plan.entries.size(); ++i) {
    const Entry& other = plan.entries[i];
    if (i == index || !IsWithin(entry.target, other.target)) continue;
    if (other.target == entry.target) return InvalidArgument("the target appears twice");
    if (i > index) return InvalidArgument(other.target + " comes later and would cover it");
    if (around == nullptr || other.target.size() > around->target.size()) around = &other;
  }
  if (entry.kind == EntryKind::kPart) return CheckPart(plan, entry, around);
  if (around == nullptr) return OkStatus();
  const bool tmpfs = entry.kind == EntryKind::kTmpfs;
  const bool allowed =
      around->kind == EntryKind::kDirectory || around->kind == EntryKind::kTmpfs ||
      (around->kind == EntryKind::kCellTree && (tmpfs || entry.kind == EntryKind::kCellTree)) ||
      (IsHostTree(*around) && (tmpfs ? around->access == Access::kReadOnly : IsHostTree(entry)));
  return allowed ? OkStatus() : PermissionDenied("not to be placed inside " + around->target);
}

Status CheckEntry(const Plan& plan, const CheckContext& context, size_t index) {
  const Entry& entry = plan.entries[index];
  if (!IsNormalizedAbsolute(entry.target) || entry.target == "/") {
    return InvalidArgument("target must be a normalised absolute path below /");
  }
  if (IsWithinAny(entry.target, kReservedTargets)) {
    return PermissionDenied("target: /proc, /dev and /.odyssey are reserved");
  }
  ODY_RETURN_IF_ERROR(CheckSource(plan, context, entry));
  return CheckPlace(plan, index);
}

bool IsLayerName(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
}

// A cell's trees, and layers, which a layer cell alone writes.
Status CheckTrees(const Plan& plan) {
  if (plan.cell_tree.empty() ? plan.disk_bytes != 0 : !AreComponents(plan.cell_tree)) {
    return InvalidArgument("check plan: cell_tree, for disk_bytes too, must be a relative path");
  }
  const bool runs_no_command = plan.program != Program::kInit;
  if (!plan.from_tree.empty() &&
      (!runs_no_command || plan.cell_tree.empty() || plan.from_tree == plan.cell_tree ||
       !AreComponents(plan.from_tree))) {
    return InvalidArgument("check plan: from_tree: only of a review cell with another cell_tree");
  }
  const bool layer = plan.program == Program::kLayer;
  if (IsWithin(plan.cell_tree, kLayersTree) != layer) {
    return PermissionDenied("check plan: cell_tree: a layer cell alone writes to a layer");
  }
  if (std::all_of(plan.layers.begin(), plan.layers.end(), IsLayerName)) return OkStatus();
  return InvalidArgument("check plan: layers: a name is hex digits");
}

// Root of the cell is another uid on the host, which needs a range.
Status CheckIds(const Plan& plan) {
  const bool range = plan.ids == Ids::kRange;
  if (!range && (!plan.layers.empty() || plan.build || plan.program == Program::kLayer)) {
    return InvalidArgument("check plan: layers need a range of ids");
  }
  const uint32_t least = range ? 0 : 1, most = range ? kRangeIds - 1 : kMaxUser;
  for (const uint32_t id : {plan.user, range ? plan.group : plan.user}) {
    if (id >= least && id <= most) continue;
    return PermissionDenied("check plan: user " + std::to_string(id) + "; " +
                            std::to_string(least) + " to " + std::to_string(most) + " are allowed");
  }
  return OkStatus();
}

}  // namespace

bool IsNormalizedAbsolute(std::string_view path) {
  if (path == "/") return true;
  return !path.empty() && path[0] == '/' && AreComponents(path.substr(1));
}

bool IsWithin(std::string_view path, std::string_view directory) {
  if (directory == "/") return !path.empty() && path[0] == '/';
  return path.substr(0, directory.size()) == directory &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

bool IsResolverFile(std::string_view path) { return IsOneOf(path, kResolverFiles); }

const std::vector<std::string>& SystemTrees() {
  static const std::vector<std::string> trees = {"/usr", "/opt",   "/bin",   "/sbin",
                                                 "/lib", "/lib32", "/lib64", "/libx32"};
  return trees;
}

Status CheckHostSource(std::string_view source, Access access, const CheckContext& context) {
  const auto refuse = [&](std::string_view why) {
    return PermissionDenied(std::string(source) + ": " + std::string(why));
  };
  if (IsOneOf(source, kBroadSources)) return refuse("too broad; name a directory below it");
  if (IsWithinAny(source, kForbiddenSources)) {
    return refuse("nothing of /proc, /sys, /dev, /run, /boot and /etc may be shown");
  }
  const bool bundle = !context.bundle_store.empty() && source != context.bundle_store &&
                      IsWithin(source, context.bundle_store);
  if (access == Access::kReadWrite && (bundle || IsWithinAny(source, kReadOnlySources))) {
    return refuse("may be shown read-only only");
  }
  if (bundle) return OkStatus();
  for (const std::string& own : context.own_directories) {
    if (IsWithin(source, own) || IsWithin(own, source)) {
      return refuse("Odyssey's own directories may not be shown, nor what contains them");
    }
  }
  return OkStatus();
}

Status CheckPlan(const Plan& plan, const CheckContext& context) {
  if (!IsCellId(plan.cell_id)) {
    return InvalidArgument("check plan: cell_id must be 1 to 64 of a-z, 0-9 and _");
  }
  ODY_RETURN_IF_ERROR(CheckTrees(plan));
  ODY_RETURN_IF_ERROR(CheckIds(plan));
  if (plan.entries.size() > kMaxEntries) return InvalidArgument("check plan: too many entries");
  ODY_RETURN_IF_ERROR(CheckLimit("memory_bytes", plan.memory_bytes, context.max_memory_bytes));
  ODY_RETURN_IF_ERROR(CheckLimit("cpu_millis", plan.cpu_millis, 0));
  ODY_RETURN_IF_ERROR(CheckLimit("pids", plan.pids, context.max_pids));
  ODY_RETURN_IF_ERROR(CheckLimit("tmp_bytes", plan.tmp_bytes, 0));

  for (size_t i = 0; i < plan.entries.size(); ++i) {
    const Status status = CheckEntry(plan, context, i);
    if (status.ok()) continue;
    return Status(status.code(), "check plan: entries[" + std::to_string(i) + "] " +
                                     plan.entries[i].target + ": " + status.message())
        .OfItem(i);
  }
  return OkStatus();
}

}  // namespace odyssey::plan
