#include "policy/compile/entries.h"

#include <algorithm>

#include "common/base/sha256.h"
#include "policy/compile/mount_files.h"
#include "policy/compile/mounts.h"

namespace odyssey::compile {
namespace {

using plan::Access;
using plan::Entry;
using plan::EntryKind;
using plan::Ownership;

constexpr char kResolver[] = "/etc/resolv.conf";
// Directories take no space of a tmpfs; this is for what holds nothing but mount points.
constexpr uint64_t kMountPointBytes = 64 * 1024;

constexpr uint32_t kNobody = 65534;  // what the kernel shows for an unmapped id
constexpr char kHosts[] =
    "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n127.0.1.1 cell\n";

constexpr char kNameServices[] =
    "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\n"
    "protocols: files\nservices: files\nethers: files\nrpc: files\n";
constexpr char kCellResolver[] = "nameserver 127.0.0.1\n";  // cell-init's, or odyssey-egress

// Of the user database only what names the three users that a cell can see.
std::string Passwd(uint32_t user) {
  const std::string id = std::to_string(user);
  return "root:x:0:0:root:/root:/usr/sbin/nologin\nagent:x:" + id + ":" + id +
         ":agent:/cell/data/home:/bin/sh\n" +
         (user == kNobody ? "" : "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n");
}

std::string Group(uint32_t user) {
  return "root:x:0:\nagent:x:" + std::to_string(user) + ":\n" +
         (user == kNobody ? "" : "nogroup:x:65534:\n");
}

Entry File(const char* target, std::string content) {
  return {.kind = EntryKind::kFile, .target = target, .source = std::move(content)};
}

Entry SystemTree(const std::string& source, const std::string& target, bool executable) {
  return {.kind = EntryKind::kHostTree,
          .target = target,
          .source = source,
          .executable = executable,
          .ownership = Ownership::kUnmapped};
}

// Changes to one directory have one place, whatever else the policy mounts and in whatever order.
void SetChanges(policy::Access access, Entry* entry) {
  constexpr size_t kDigits = 16;
  if (access != policy::Access::kReview) return;
  entry->changes = "changes/" + Sha256Hex(entry->source).substr(0, kDigits);
}

// Where a link in /etc leads, by its text alone.
std::string FollowFromEtc(const std::string& link_target) {
  if (link_target.rfind("../", 0) == 0) return link_target.substr(2);
  return link_target.rfind('/', 0) == 0 ? link_target : "/etc/" + link_target;
}

void AddResolver(const policy::SandboxRequest& request, const SystemEntry& found, Compiled* out) {
  if (request.network != policy::Network::kFull) return;
  const std::string source =
      found.link_target.empty() ? found.path : FollowFromEtc(found.link_target);
  if (!plan::IsResolverFile(source)) {
    out->explanation.push_back("/etc/resolv.conf: left out: the host's leads to " + source);
    return;
  }
  out->plan.entries.push_back(SystemTree(source, kResolver, /*executable=*/false));
  out->explanation.push_back("/etc/resolv.conf: the host's, read-only: network is full");
}

// The own directory of Odyssey that a tree would show, or "".
std::string OwnDirectoryIn(const std::string& tree, const plan::CheckContext& context) {
  const auto& own = context.own_directories;
  const auto it = std::find_if(own.begin(), own.end(),
                               [&](const std::string& d) { return plan::IsWithin(d, tree); });
  return it == own.end() ? "" : *it;
}

void AddSystemTree(const policy::SandboxRequest& request, const SystemEntry& found,
                   const HostFacts& facts, Compiled* out) {
  if (!found.link_target.empty()) {
    out->plan.entries.push_back(
        {.kind = EntryKind::kSymlink, .target = found.path, .source = found.link_target});
    return;
  }
  if (const std::string own = OwnDirectoryIn(found.path, facts.check); !own.empty()) {
    out->explanation.push_back(found.path + ": left out: it contains " + own);
    return;
  }
  const bool programs = !plan::IsWithin(found.path, "/etc");
  // In explicit mode the programs that are named come on top; the rest of the tree is data.
  const bool named = request.executables_mode == policy::ExecutablesMode::kExplicit;
  out->plan.entries.push_back(SystemTree(found.path, found.path, programs && !named));
  if (!programs) return;
  if (named) {
    out->explanation.push_back(found.path + ": the host's, read-only, noexec");
    return;
  }
  out->confinement.rules.push_back({found.path, cell::kRead | cell::kExecute});
  out->explanation.push_back(found.path + ": the host's, read-only: programs and libraries");
}

// Appends a tree that commands may use, with its Landlock rule and its line of explanation.
void AddTree(Entry entry, const policy::SandboxRequest& request, const std::string& why,
             Compiled* out) {
  const bool programs = entry.executable;
  entry.executable = programs || request.executables_mode == policy::ExecutablesMode::kAll;
  const bool writable = entry.access == Access::kReadWrite;
  const bool reviewed = !entry.changes.empty();
  if (programs) out->confinement.rules.push_back({entry.target, cell::kRead | cell::kExecute});
  if (writable) out->confinement.rules.push_back({entry.target, cell::kRead | cell::kWrite});
  out->explanation.push_back(entry.target + ": " + why +
                             (reviewed   ? ", writable on a copy: changes reach it by commit alone"
                              : writable ? ", writable"
                                         : ", read-only") +
                             (programs           ? ", executable"
                              : entry.executable ? ""
                                                 : ", noexec"));
  out->plan.entries.push_back(std::move(entry));
}

void AddWorkspace(const policy::SandboxRequest& request, bool mirrored, Compiled* out) {
  Entry entry = {.kind = EntryKind::kCellTree, .target = plan::kWorkspacePath, .source = "app"};
  std::string why = "the cell's own workspace";
  if (!request.workspace.empty()) {
    entry.kind = EntryKind::kHostTree;
    entry.source = request.workspace;
    entry.device = request.workspace_identity.device;
    entry.inode = request.workspace_identity.inode;
    why = "the host's " + request.workspace + ", its owner's files appear as the agent's";
  }
  entry.access = ToPlanAccess(WorkspaceAccess(request));
  entry.executable = request.executables_mode == policy::ExecutablesMode::kWorkspace;
  if (entry.kind == EntryKind::kHostTree) SetChanges(WorkspaceAccess(request), &entry);
  AddTree(std::move(entry), request, why, out);
  if (!mirrored) return;

  out->plan.entries.push_back(
      {.kind = EntryKind::kTmpfs, .target = kMirrorPath, .size_bytes = kMountPointBytes});
  out->explanation.push_back(std::string(kMirrorPath) +
                             ": in memory, root's, read-only: mount points, so that none is made "
                             "in the workspace");
}

void AddCellDirectories(const policy::SandboxRequest& request, Compiled* out) {
  for (const std::string name : {"data", "cache", "tmp", "runs"}) {
    AddTree({.kind = EntryKind::kCellTree,
             .target = std::string(plan::kCellPath) + "/" + name,
             .source = name,
             .access = Access::kReadWrite},
            request, "the cell's own", out);
  }
}

std::string AskedBy(const policy::SandboxRequest& request, const policy::Mount& mount) {
  const auto& names = request.executables;
  const bool named = std::find(names.begin(), names.end(), mount.source) != names.end();
  return named ? "executables" : "mounts";
}

// The entry of a host directory that `target` lies in, if it does.
const Entry* HostTreeAround(const std::string& target, const std::vector<Entry>& entries) {
  const Entry* around = nullptr;
  for (const Entry& entry : entries) {
    const bool host = entry.kind == EntryKind::kHostTree || entry.kind == EntryKind::kPart;
    if (host && plan::IsWithin(target, entry.target)) around = &entry;
  }
  return around;
}

// In a tree that is written directly, a mount point cannot be renamed or removed, but a directory
// above it could be: each is a mount point too.
void PinParents(const std::string& target, const Entry& tree, std::vector<Entry>* entries) {
  const size_t top = tree.target.size();
  const bool executable = tree.executable;
  for (size_t slash = target.find('/', top + 1); slash != std::string::npos;
       slash = target.find('/', slash + 1)) {
    const std::string parent = target.substr(0, slash);
    const bool there = std::any_of(entries->begin(), entries->end(),
                                   [&](const Entry& entry) { return entry.target == parent; });
    if (there) continue;
    entries->push_back({.kind = EntryKind::kPart,
                        .target = parent,
                        .access = Access::kReadWrite,
                        .executable = executable});
  }
}

// Inside a tree that is written directly what is read-only is a part of it, which has the checks of
// protected names: that it is no link, and has no other name.
void PlaceInTree(const Entry& tree, Entry* entry, std::vector<Entry>* entries) {
  if (tree.access != Access::kReadWrite || !tree.changes.empty()) return;
  if (entry->access == Access::kReadOnly) {
    *entry = {.kind = EntryKind::kPart, .target = entry->target, .executable = entry->executable};
  }
  PinParents(entry->target, Entry(tree), entries);
}

void AddMounts(const policy::SandboxRequest& request, const std::vector<policy::Mount>& mounts,
               Compiled* out) {
  for (const policy::Mount& mount : mounts) {
    out->confinement.tool_roots.push_back(ToolRootOf(mount));
    Entry entry = {.kind = EntryKind::kHostTree,
                   .target = mount.target,
                   .source = mount.source,
                   .access = ToPlanAccess(mount.access),
                   .executable = mount.executable,
                   .device = mount.identity.device,
                   .inode = mount.identity.inode};
    SetChanges(mount.access, &entry);
    const Entry* const around = HostTreeAround(mount.target, out->plan.entries);
    if (around != nullptr) {
      const bool system = around->ownership == Ownership::kUnmapped;
      if (system && entry.access == Access::kReadOnly) entry.executable |= around->executable;
      PlaceInTree(*around, &entry, &out->plan.entries);
    }
    AddTree(std::move(entry), request,
            "the host's " + mount.source + ", asked for by " + AskedBy(request, mount) +
                DescribeMountFiles(mount),
            out);
  }
}

}  // namespace

uint32_t UserOf(const policy::SandboxRequest& request) {
  return request.user == 0 ? plan::kCellUser : request.user;
}

void AddOwnConfiguration(const policy::SandboxRequest& request, const HostFacts& facts,
                         Compiled* out) {
  for (const SystemEntry& found : facts.system) {
    if (found.path == kResolver) AddResolver(request, found, out);
  }
  auto& entries = out->plan.entries;
  entries.push_back(File("/etc/hosts", kHosts));
  entries.push_back(File("/etc/hostname", "cell\n"));
  if (request.network != policy::Network::kFull) entries.push_back(File(kResolver, kCellResolver));
  entries.push_back(File(cell::kEmptyFile, ""));
  entries.push_back({.kind = EntryKind::kDirectory, .target = cell::kEmptyDirectory});
}

void AddSystem(const policy::SandboxRequest& request, const HostFacts& facts, Compiled* out) {
  for (const SystemEntry& found : facts.system) {
    if (found.path != kResolver) AddSystemTree(request, found, facts, out);
  }
  auto& entries = out->plan.entries;
  entries.push_back(File("/etc/passwd", Passwd(UserOf(request))));
  entries.push_back(File("/etc/group", Group(UserOf(request))));
  entries.push_back(File("/etc/nsswitch.conf", kNameServices));
  AddOwnConfiguration(request, facts, out);
  out->explanation.push_back(
      "/etc: generated users, groups and hosts; no machine-id, shadow or host name");
}

void AddTrees(const policy::SandboxRequest& request, const std::vector<policy::Mount>& mounts,
              Compiled* out) {
  AddTree({.kind = EntryKind::kTmpfs,
           .target = "/tmp",
           .access = Access::kReadWrite,
           .size_bytes = out->limits.tmp_bytes},
          request, "in memory", out);
  out->confinement.tool_roots.push_back({.path = "/tmp"});
  const bool image = !request.image.reference.empty();
  const bool below = std::any_of(mounts.begin(), mounts.end(), [](const policy::Mount& m) {
    return plan::IsWithin(m.target, kVarTmp);
  });
  if (below) {
    AddTree({.kind = EntryKind::kTmpfs,
             .target = kVarTmp,
             .access = Access::kReadWrite,
             .size_bytes = out->limits.tmp_bytes},
            request, "in memory: mounts lie below it", out);
    out->confinement.tool_roots.push_back({.path = kVarTmp});
  } else if (!image) {
    out->plan.entries.push_back(
        {.kind = EntryKind::kSymlink, .target = kVarTmp, .source = "../tmp"});
  }
  if (!image) out->plan.entries.push_back({.kind = EntryKind::kDirectory, .target = "/run"});

  // What lies in a workspace on the host needs no directory for mount points.
  const bool mirrored = std::any_of(mounts.begin(), mounts.end(), [&](const policy::Mount& m) {
    return plan::IsWithin(m.target, kMirrorPath) &&
           (request.workspace.empty() || !plan::IsWithin(m.source, request.workspace));
  });
  AddWorkspace(request, mirrored, out);
  AddCellDirectories(request, out);
  AddMounts(request, mounts, out);
}

}  // namespace odyssey::compile
