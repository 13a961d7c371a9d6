#include "policy/explain/explain.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "policy/pattern/path_pattern.h"
#include "policy/plan/plan_check.h"

namespace odyssey::explain {
namespace {

using plan::Entry;
using plan::EntryKind;
using plan::IsWithin;
using policy::ExecutablesMode;

constexpr int kMaxLinks = 8;
constexpr char kToolsKey[] = "sandbox.system_tools";
constexpr char kNamedOnly[] = "policy system_tools_mode explicit";
constexpr char kOnHost[] = "mode danger_full_access: the host itself";
// Made by bubblewrap and cell-init, with rules of their own.
constexpr const char* kKernelPlaces[] = {"/proc", "/dev", "/sys", "/.odyssey"};

// A quoted value of a manifest. What a command names may have any bytes.
std::string Quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string ListGrant(const std::string& key, const std::string& value) {
  return key + ": [" + Quoted(value) + "]";
}

Grant ExecutableGrant(const std::string& name) {
  return {Grant::Key::kExecutable, name, ListGrant(kToolsKey, name)};
}

Grant MountGrant(Access access, const std::string& source) {
  const bool write = access == Access::kWrite;
  return {
      write ? Grant::Key::kMountWrite : Grant::Key::kMountRead, source,
      ListGrant(std::string("sandbox.permissions.filesystem.mounts.") + (write ? "write" : "read"),
                source)};
}

// The innermost entry that decides about `path`; nullptr if it is the cell's root itself.
const Entry* EntryOf(const plan::Plan& plan, const std::string& path) {
  const Entry* best = nullptr;
  for (const Entry& entry : plan.entries) {
    if (!IsWithin(path, entry.target)) continue;
    if (best == nullptr || entry.target.size() >= best->target.size()) best = &entry;
  }
  return best;
}

// The host or cell tree that a part belongs to.
const Entry* TreeOf(const plan::Plan& plan, const Entry& part) {
  const Entry* best = nullptr;
  for (const Entry& entry : plan.entries) {
    if (entry.kind != EntryKind::kHostTree || !IsWithin(part.target, entry.target)) continue;
    if (best == nullptr || entry.target.size() > best->target.size()) best = &entry;
  }
  return best;
}

bool LandlockGrants(const Cell& cell, const std::string& path, uint8_t right) {
  const auto& rules = cell.compiled.confinement.rules;
  return std::any_of(rules.begin(), rules.end(), [&](const cell::LandlockRule& rule) {
    return (rule.rights & right) != 0 && (rule.path == "/" || IsWithin(path, rule.path));
  });
}

// A mount inside a tree that is written directly is a part of it.
const policy::Mount* MountAt(const Cell& cell, const std::string& target) {
  for (const policy::Mount& mount : cell.request.mounts) {
    if (mount.target == target) return &mount;
  }
  return nullptr;
}

// Of a read-only part of a tree that may be written: it is kept, by name.
std::string ProtectionGrant(const Cell& cell, const Entry& part) {
  const Entry* tree = TreeOf(cell.compiled.plan, part);
  if (tree == nullptr || part.target.size() <= tree->target.size()) return "";
  const std::string relative = part.target.substr(tree->target.size() + 1);
  const auto& protect = cell.request.protect;
  if (std::find(protect.begin(), protect.end(), relative) != protect.end()) {
    return "sandbox.protect: without " + Quoted(relative);
  }
  return "sandbox.protection: \"none\"";
}

Grant WriteGrant(const Cell& cell, const Entry& entry) {
  if (IsSystemTree(entry)) return "";
  if (entry.kind == EntryKind::kPart) {
    const Entry* tree = TreeOf(cell.compiled.plan, entry);
    if (tree == nullptr) return "";
    const policy::Mount* const mount = MountAt(cell, entry.target);
    if (mount != nullptr) return MountGrant(Access::kWrite, mount->source);
    if (tree->access == plan::Access::kReadWrite) return ProtectionGrant(cell, entry);
    return WriteGrant(cell, *tree);
  }
  if (entry.target == plan::kWorkspacePath) {
    return {Grant::Key::kWorkspaceWrite, "", "sandbox.mode: \"workspace_write\""};
  }
  if (entry.kind == EntryKind::kHostTree) return MountGrant(Access::kWrite, entry.source);
  return "";
}

Answer ExplainWrite(const Cell& cell, const Entry& entry, const std::string& path) {
  if (entry.access == plan::Access::kReadOnly) {
    const bool kept = entry.kind == EntryKind::kPart && MountAt(cell, entry.target) == nullptr &&
                      !WriteGrant(cell, entry).empty();
    return {false, (kept ? "policy protection " : "mount ") + entry.target + " read_only",
            WriteGrant(cell, entry)};
  }
  if (LandlockGrants(cell, path, cell::kWrite)) return {true, "mount " + entry.target, ""};
  return {false, "landlock: not a writable tree of the plan", ""};
}

// What a command can write to may not be named.
bool MayBeNamed(const Cell& cell, const Entry& entry) {
  const Entry* tree = entry.kind == EntryKind::kPart ? TreeOf(cell.compiled.plan, entry) : &entry;
  return tree != nullptr && tree->kind == EntryKind::kHostTree &&
         tree->access == plan::Access::kReadOnly;
}

Grant ExecuteGrant(const Cell& cell, const Entry& entry, const std::string& path) {
  if (MayBeNamed(cell, entry)) return ExecutableGrant(path);
  if (IsSystemTree(entry)) return "";
  return {Grant::Key::kAllExecutables, "", "sandbox.system_tools_mode: \"all\""};
}

Answer ExplainExecute(const Cell& cell, const Entry& entry, const std::string& path) {
  const Grant grant = ExecuteGrant(cell, entry, path);
  if (!entry.executable) return {false, "mount " + entry.target + " noexec", grant};
  if (LandlockGrants(cell, path, cell::kExecute)) return {true, "mount " + entry.target, ""};
  const bool named_only = cell.request.executables_mode == ExecutablesMode::kExplicit;
  return {false, named_only ? kNamedOnly : "landlock: not an executable tree", grant};
}

// What bubblewrap and cell-init make: devices that may be written, and nothing else.
Answer ExplainKernelPlace(const Cell& cell, const std::string& path, Access access) {
  const uint8_t right = access == Access::kWrite ? cell::kWrite : cell::kExecute;
  const bool allowed = access == Access::kRead || LandlockGrants(cell, path, right);
  return {allowed, allowed ? "the cell's own " + path : "landlock: the kernel's own files", ""};
}

// Outside every entry: the root directory, which holds mount points and nothing else.
Answer ExplainRoot(const Cell& cell, const std::string& path, Access access) {
  const auto& entries = cell.compiled.plan.entries;
  const bool visible = path == "/" || std::any_of(entries.begin(), entries.end(), [&](auto& entry) {
                         return IsWithin(entry.target, path);
                       });
  if (access == Access::kRead && visible) return {true, "mount /", ""};
  // What no policy may mount no ceiling can grant.
  const auto wanted = access == Access::kWrite ? plan::Access::kReadWrite : plan::Access::kReadOnly;
  const bool mountable = !visible && plan::CheckHostSource(path, wanted, {}).ok();
  const Grant grant = mountable ? MountGrant(access, path) : Grant();
  return {false, visible ? "mount / read_only" : "mount: nothing of the policy shows it", grant};
}

// A name that no command may open, whatever the tree allows; nullopt if none of the patterns covers
// it.
std::optional<Answer> ExplainDeny(const Cell& cell, const std::string& path) {
  for (const cell::Guard& guard : cell.compiled.confinement.guards) {
    if (!IsWithin(path, guard.path) || path.size() <= guard.path.size()) continue;
    const std::string relative = path.substr(guard.path.size() + 1);
    for (const std::string& text : guard.deny) {
      const auto pattern = pattern::PathPattern::Parse(text);
      if (!pattern.ok() || !pattern->Covers(relative)) continue;
      return Answer{false, "policy deny " + text, "sandbox.deny: without " + Quoted(text)};
    }
  }
  return std::nullopt;
}

const policy::LimitKey& KeyOf(Limit limit) {
  return policy::kLimitKeys[static_cast<size_t>(limit)];
}

}  // namespace

bool IsOnHost(const Cell& cell) { return policy::IsDanger(cell.request); }

bool IsSystemTree(const Entry& entry) {
  return entry.kind == EntryKind::kHostTree && entry.ownership == plan::Ownership::kUnmapped;
}

std::string AccessName(Access access) {
  switch (access) {
    case Access::kRead:
      return "read";
    case Access::kWrite:
      return "write";
    case Access::kExecute:
      return "execute";
  }
  return "";
}

Answer ExplainPath(const Cell& cell, const std::string& path, Access access) {
  if (IsOnHost(cell)) return {true, kOnHost, ""};
  for (const char* place : kKernelPlaces) {
    if (IsWithin(path, place)) return ExplainKernelPlace(cell, path, access);
  }
  if (const auto denied = ExplainDeny(cell, path)) return *denied;
  const Entry* entry = EntryOf(cell.compiled.plan, path);
  if (entry == nullptr) return ExplainRoot(cell, path, access);
  switch (access) {
    case Access::kWrite:
      return ExplainWrite(cell, *entry, path);
    case Access::kExecute:
      return ExplainExecute(cell, *entry, path);
    case Access::kRead:
      break;
  }
  if (LandlockGrants(cell, path, cell::kRead)) return {true, "mount " + entry->target, ""};
  return {false, "landlock: not a readable tree of the plan", ""};
}

Answer ExplainUnlisted(const std::string& name) {
  return {false, kNamedOnly, ExecutableGrant(name)};
}

Answer ExplainNetwork(const Cell& cell) {
  if (IsOnHost(cell)) return {true, kOnHost, ""};
  if (cell.compiled.plan.network == plan::Network::kFull) return {true, "network full", ""};
  return {false,
          "network none",
          {Grant::Key::kNetworkFull, "", "sandbox.permissions.network: [\"*\"]"}};
}

std::string LimitName(Limit limit) { return std::string(KeyOf(limit).name); }

Answer ExplainLimit(const Cell& cell, Limit limit, uint64_t value) {
  const policy::LimitKey& key = KeyOf(limit);
  if (value == 0) value = key.get(cell.compiled.limits);
  // Twice as much, in the manifest's units and at least one more of them.
  const uint64_t more = (2 * value + key.manifest.unit - 1) / key.manifest.unit;
  return {false,
          std::string(key.enforcer.mechanism) + " " + std::string(key.name) + " " +
              std::to_string(value),
          {Grant::Key::kLimit, std::to_string(more * key.manifest.unit),
           "sandbox.resources." + std::string(key.manifest.name) + ": " + std::to_string(more)}};
}

std::optional<Limit> SpaceLimitAt(const Cell& cell, const std::string& path) {
  const Entry* in = EntryOf(cell.compiled.plan, path);
  if (in == nullptr) return std::nullopt;
  const bool tmpfs = in->kind == EntryKind::kTmpfs;
  if (!tmpfs && in->kind != EntryKind::kCellTree) return std::nullopt;
  if (tmpfs || cell.request.ephemeral) return Limit::kTmp;
  if (cell.compiled.limits.disk_bytes != 0) return Limit::kDisk;
  return std::nullopt;
}

std::string Normalize(const std::string& path) {
  std::vector<std::string> parts;
  for (size_t begin = 1; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    if (part == "..") {
      if (!parts.empty()) parts.pop_back();
    } else if (!part.empty() && part != ".") {
      parts.push_back(part);
    }
    begin = end + 1;
  }
  std::string out;
  for (const std::string& part : parts) out += "/" + part;
  return out.empty() ? "/" : out;
}

std::string ResolveInCell(const Cell& cell, const std::string& cwd, const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos) return "";
  std::string out = Normalize(path[0] == '/' ? path : cwd + "/" + path);
  for (int links = 0; links < kMaxLinks; ++links) {
    const auto& entries = cell.compiled.plan.entries;
    const auto link = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) {
      return entry.kind == EntryKind::kSymlink && IsWithin(out, entry.target);
    });
    if (link == entries.end()) break;
    const std::string rest = out.substr(link->target.size());
    const std::string parent = link->target.substr(0, link->target.rfind('/'));
    out = Normalize((link->source[0] == '/' ? link->source : parent + "/" + link->source) + rest);
  }
  return out;
}

}  // namespace odyssey::explain
