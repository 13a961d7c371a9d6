#include "supervisor/root/staging.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>
#include <vector>

#include "common/os/file.h"
#include "common/os/mount_calls.h"
#include "common/os/user_namespace.h"
#include "supervisor/root/cell_tree.h"

namespace odyssey::root {
namespace {

using plan::Access;
using plan::Entry;
using plan::EntryKind;
using plan::Ownership;

// The staging tmpfs holds only directories, links and small generated files.
constexpr char kStagingOptions[] = "size=4m,mode=0755";

class Stager final {
 public:
  Stager(const plan::Plan& plan, uid_t cell_uid, const StagingPaths& paths)
      : plan_(plan), cell_uid_(cell_uid), paths_(paths) {}

  Status Run() {
    ODY_RETURN_IF_ERROR(OpenSources());
    ODY_RETURN_IF_ERROR(OpenTree());
    ODY_RETURN_IF_ERROR(MountStaging());
    for (const char* place : {"/proc", "/dev"}) {
      ODY_RETURN_IF_ERROR(MakeTarget(place, S_IFDIR).status());
    }
    for (size_t i = 0; i < plan_.entries.size(); ++i) {
      ODY_RETURN_IF_ERROR(Place(plan_.entries[i], sources_[i].get()));
    }
    return Bind({.target = plan::kInitPath, .source = plan::kInitPath, .executable = true},
                init_source_.get(), -1);
  }

 private:
  // Before the staging tmpfs hides anything. A source is what was opened here, whatever its path
  // means later.
  Status OpenSources() {
    for (const Entry& entry : plan_.entries) {
      sources_.emplace_back();
      if (entry.kind != EntryKind::kHostTree) continue;
      ODY_ASSIGN_OR_RETURN(sources_.back(), OpenHostPath(entry.source));
      if (IsKernelFilesystem(sources_.back().get())) {
        return PermissionDenied("mount " + entry.source + ": it is on a kernel file system");
      }
    }
    ODY_ASSIGN_OR_RETURN(init_source_, OpenHostPath(paths_.init_binary));
    return OkStatus();
  }

  // The cell's own tree: on disk under the store's uid, or in memory under the cell's.
  Status OpenTree() {
    if (plan_.cell_tree.empty()) return OkStatus();
    ODY_ASSIGN_OR_RETURN(tree_,
                         OpenCellTree(paths_.cells_directory, plan_.cell_tree, paths_.store_uid));
    ODY_ASSIGN_OR_RETURN(tree_map_,
                         MakeMappingNamespace(paths_.store_uid, paths_.store_uid, cell_uid_));
    return OkStatus();
  }

  Status MountStaging() {
    ODY_ASSIGN_OR_RETURN(UniqueFd place, OpenHostPath(kStagingDirectory));
    ODY_RETURN_IF_ERROR(MountTmpfs(place.get(), kStagingOptions, kStagingDirectory));
    if (mkdir(kStagedRoot, 0755) != 0) return ErrnoStatus(errno, "create the staged root");
    ODY_ASSIGN_OR_RETURN(root_, OpenHostPath(kStagedRoot));
    ODY_RETURN_IF_ERROR(AddOwnDevice(root_.get()));
    if (!plan_.cell_tree.empty()) return OkStatus();

    const std::string memory_tree = std::string(kStagingDirectory) + "/tree";
    if (mkdir(memory_tree.c_str(), 0755) != 0) return ErrnoStatus(errno, "create " + memory_tree);
    ODY_ASSIGN_OR_RETURN(UniqueFd on, OpenHostPath(memory_tree));
    ODY_RETURN_IF_ERROR(MountTmpfs(on.get(), TmpfsOptions(plan_.tmp_bytes, "0711"), memory_tree));
    ODY_ASSIGN_OR_RETURN(tree_, OpenHostPath(memory_tree));
    for (const char* directory : kStandardDirectories) {
      ODY_RETURN_IF_ERROR(OpenTreeDirectory(tree_.get(), directory, cell_uid_).status());
    }
    return OkStatus();
  }

  std::string TmpfsOptions(uint64_t bytes, const std::string& mode) const {
    const std::string uid = std::to_string(cell_uid_);
    return "size=" + std::to_string(bytes) + ",mode=" + mode + ",uid=" + uid + ",gid=" + uid;
  }

  // Makes `target` and its parents below the staged root and opens it. Parents that are not on the
  // staging tmpfs belong to somebody: there the target must exist already.
  Result<UniqueFd> MakeTarget(const std::string& target, mode_t type) {
    UniqueFd at(dup(root_.get()));
    for (size_t begin = 1; begin <= target.size();) {
      const size_t slash = target.find('/', begin);
      const std::string name = target.substr(begin, slash - begin);
      const bool last = slash == std::string::npos;
      ODY_RETURN_IF_ERROR(MakeChild(at.get(), name, last ? type : S_IFDIR, target));
      ODY_ASSIGN_OR_RETURN(at, OpenInRoot(at.get(), name));
      if (last) break;
      begin = slash + 1;
    }
    return at;
  }

  Status MakeChild(int parent, const std::string& name, mode_t type, const std::string& target) {
    struct stat info;
    if (fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
      if ((info.st_mode & S_IFMT) == type) return OkStatus();
      return InvalidArgument("mount point " + target + ": " + name +
                             " is there already and is no " +
                             (type == S_IFDIR ? "directory" : "file"));
    }
    if (fstat(parent, &info) != 0 || own_devices_.count(info.st_dev) == 0) {
      return InvalidArgument("mount point " + target + ": " + name +
                             " does not exist, and nothing is created inside a mounted tree");
    }
    const int made = type == S_IFDIR ? mkdirat(parent, name.c_str(), 0755)
                                     : mknodat(parent, name.c_str(), S_IFREG | 0444, 0);
    return made == 0 ? OkStatus() : ErrnoStatus(errno, "create mount point " + target);
  }

  Status Place(const Entry& entry, int source) {
    switch (entry.kind) {
      case EntryKind::kDirectory:
        return MakeTarget(entry.target, S_IFDIR).status();
      case EntryKind::kSymlink:
        return PlaceSymlink(entry);
      case EntryKind::kFile:
        return PlaceFile(entry);
      case EntryKind::kTmpfs:
        return PlaceTmpfs(entry);
      case EntryKind::kCellTree:
        return PlaceCellTree(entry);
      case EntryKind::kHostTree:
        return PlaceHostTree(entry, source);
      case EntryKind::kPart:
        return PlacePart(entry);
    }
    return Internal("unknown plan entry");
  }

  Result<UniqueFd> ParentOf(const std::string& target, std::string* name) {
    const size_t slash = target.rfind('/');
    *name = target.substr(slash + 1);
    if (slash == 0) return UniqueFd(dup(root_.get()));
    return MakeTarget(target.substr(0, slash), S_IFDIR);
  }

  Status PlaceSymlink(const Entry& entry) {
    std::string name;
    ODY_ASSIGN_OR_RETURN(UniqueFd parent, ParentOf(entry.target, &name));
    if (symlinkat(entry.source.c_str(), parent.get(), name.c_str()) != 0) {
      return ErrnoStatus(errno, "create link " + entry.target);
    }
    return OkStatus();
  }

  Status PlaceFile(const Entry& entry) {
    std::string name;
    ODY_ASSIGN_OR_RETURN(UniqueFd parent, ParentOf(entry.target, &name));
    UniqueFd fd(openat(parent.get(), name.c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444));
    if (!fd) return ErrnoStatus(errno, "create " + entry.target);
    return WriteAll(fd.get(), entry.source);
  }

  Status PlaceTmpfs(const Entry& entry) {
    ODY_ASSIGN_OR_RETURN(UniqueFd target, MakeTarget(entry.target, S_IFDIR));
    // Read-only: a directory of root's that holds mount points for later entries.
    const std::string options =
        entry.access == Access::kReadOnly
            ? kStagingOptions
            : TmpfsOptions(entry.size_bytes, entry.target == "/tmp" ? "1777" : "0700");
    ODY_RETURN_IF_ERROR(MountTmpfs(target.get(), options, entry.target));
    ODY_ASSIGN_OR_RETURN(UniqueFd mounted, OpenInRoot(root_.get(), entry.target));
    ODY_RETURN_IF_ERROR(AddOwnDevice(mounted.get()));
    return SetAttributes(mounted.get(), {.no_exec = !entry.executable}, entry.target);
  }

  Status AddOwnDevice(int fd) {
    struct stat info;
    if (fstat(fd, &info) != 0) return ErrnoStatus(errno, "stat the staging directory");
    own_devices_.insert(info.st_dev);
    return OkStatus();
  }

  Status PlaceCellTree(const Entry& entry) {
    const uid_t owner = tree_map_ ? paths_.store_uid : cell_uid_;
    ODY_ASSIGN_OR_RETURN(UniqueFd source, OpenTreeDirectory(tree_.get(), entry.source, owner));
    return Bind(entry, source.get(), tree_map_ ? tree_map_.get() : -1);
  }

  Status PlaceHostTree(const Entry& entry, int source) {
    if (entry.ownership == Ownership::kAsIs) return Bind(entry, source, -1);
    struct stat info;
    if (fstat(source, &info) != 0) return ErrnoStatus(errno, "stat " + entry.source);
    if (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode)) {
      return InvalidArgument("mount " + entry.source + ": neither a directory nor a regular file");
    }
    ODY_ASSIGN_OR_RETURN(UniqueFd map, MakeMappingNamespace(info.st_uid, info.st_gid, cell_uid_));
    return Bind(entry, source, map.get());
  }

  // On top of itself, where the cell will see it: no path on the host is looked up a second time.
  Status PlacePart(const Entry& entry) {
    auto target = OpenInRoot(root_.get(), entry.target);
    if (target.status().code() == Code::kNotFound) return OkStatus();
    ODY_RETURN_IF_ERROR(target.status());
    ODY_ASSIGN_OR_RETURN(UniqueFd tree, CloneTree(target->get(), entry.target));
    ODY_RETURN_IF_ERROR(SetAttributes(
        tree.get(),
        {.read_only = entry.access == Access::kReadOnly, .lift_no_exec = entry.executable},
        entry.target));
    return AttachTree(tree.get(), target->get(), entry.target);
  }

  Status Bind(const Entry& entry, int source, int idmap_namespace) {
    struct stat info;
    if (fstat(source, &info) != 0) return ErrnoStatus(errno, "stat " + entry.source);
    const mode_t type = S_ISDIR(info.st_mode) ? S_IFDIR : S_IFREG;
    ODY_ASSIGN_OR_RETURN(UniqueFd target, MakeTarget(entry.target, type));
    ODY_ASSIGN_OR_RETURN(UniqueFd tree, CloneTree(source, entry.source));
    ODY_RETURN_IF_ERROR(SetAttributes(tree.get(),
                                      {.read_only = entry.access == Access::kReadOnly,
                                       .no_exec = !entry.executable,
                                       .idmap_namespace = idmap_namespace},
                                      entry.source));
    return AttachTree(tree.get(), target.get(), entry.source);
  }

  const plan::Plan& plan_;
  const uid_t cell_uid_;
  const StagingPaths& paths_;
  std::vector<UniqueFd> sources_;  // beside plan_.entries
  UniqueFd init_source_;
  UniqueFd root_;
  UniqueFd tree_;                // the cell's own tree
  UniqueFd tree_map_;            // its idmap; none in memory
  std::set<dev_t> own_devices_;  // file systems made here: targets may be created on them
};

}  // namespace

Status StageRoot(const plan::Plan& plan, uid_t cell_uid, const StagingPaths& paths) {
  return Stager(plan, cell_uid, paths).Run();
}

}  // namespace odyssey::root
