#include "supervisor/root/staging.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <vector>

#include "common/os/file.h"
#include "common/os/mount_calls.h"
#include "common/os/mount_tree.h"
#include "common/os/user_namespace.h"
#include "policy/plan/plan_check.h"
#include "supervisor/root/cell_tree.h"

namespace odyssey::root {
namespace {

using plan::Access;
using plan::Entry;
using plan::EntryKind;
using plan::Ownership;

// The staging tmpfs holds only directories, links and small generated files.
constexpr char kStagingOptions[] = "size=4m,mode=0755";
constexpr char kDevices[] = "/run/devices";
// By plan::Program.
constexpr const char* kPrograms[] = {"odyssey-cell-init", "odyssey-cell-review",
                                     "odyssey-cell-layer"};
// Of the kernel's list of allocated device numbers (misc, fuse).
constexpr unsigned kFuse[] = {10, 229};

// The range of ids of the cell uid `uid`; of the store's uid, the one that owns layers and the
// trees of cells with a range. All lie above the uids of cells. 0: it would not fit in 32 bits.
uint32_t RangeOf(uid_t uid, uid_t store_uid) {
  constexpr uint64_t kAboveCells = uint64_t{1} << 24;
  const uint64_t first = store_uid + kAboveCells + uint64_t{uid - store_uid} * plan::kRangeIds;
  return first + plan::kRangeIds < UINT32_MAX ? static_cast<uint32_t>(first) : 0;
}

class Stager final {
 public:
  Stager(const plan::Plan& plan, const CellIds& ids, const StagingPaths& paths)
      : plan_(plan),
        ids_(ids),
        paths_(paths),
        first_stored_(ids.first == 0 ? 0 : RangeOf(paths.store_uid, paths.store_uid)) {}

  Status Run() {
    for (size_t i = 0; i < plan_.entries.size(); ++i) {
      if (const Status status = OpenSource(plan_.entries[i]); !status.ok()) return status.OfItem(i);
    }
    ODY_ASSIGN_OR_RETURN(programs_, OpenHostPath(paths_.program_directory));
    ODY_RETURN_IF_ERROR(OpenTree());
    ODY_RETURN_IF_ERROR(MountStaging());
    for (const char* place : {"/proc", "/dev"}) {
      ODY_RETURN_IF_ERROR(staged_.Make(place, S_IFDIR).status());
    }
    if (!plan_.layers.empty()) ODY_RETURN_IF_ERROR(MountImage());
    for (size_t i = 0; i < plan_.entries.size(); ++i) {
      if (const Status status = Place(i); !status.ok()) return status.OfItem(i);
    }
    if (plan_.fuse_device) ODY_RETURN_IF_ERROR(PlaceGuard());
    return PlaceProgram(kPrograms[static_cast<size_t>(plan_.program)], plan::kInitPath);
  }

 private:
  // Before the staging tmpfs hides anything. A source is what was opened here, whatever its path
  // means later.
  Status OpenSource(const Entry& entry) {
    places_.emplace_back();
    if (entry.kind != EntryKind::kHostTree) return OkStatus();
    // If rootless, only the one uid's rights are there to open it by.
    const bool anybody = entry.owner == plan::kAnyOwner || paths_.rootless;
    ODY_ASSIGN_OR_RETURN(places_.back(), anybody ? OpenHostPath(entry.source)
                                                 : OpenHostPathAs(entry.owner, entry.source));
    if (!IsKernelFilesystem(places_.back().get())) return OkStatus();
    return PermissionDenied("mount " + entry.source + ": it is on a kernel file system");
  }

  // The cell's own tree: on disk under the store's uid, or in memory under the cell's; and the
  // layers of its image.
  Status OpenTree() {
    for (const std::string& name : plan_.layers) {
      const std::string files =
          std::string(plan::kLayersTree) + "/" + name + "/" + plan::kLayerFiles;
      ODY_ASSIGN_OR_RETURN(layers_of_image_.emplace_back(),
                           OpenHostPath(paths_.cells_directory + "/" + files));
    }
    if (plan_.cell_tree.empty()) return OkStatus();
    tree_owner_ = first_stored_ == 0 ? paths_.store_uid : first_stored_ + plan_.user;
    ODY_ASSIGN_OR_RETURN(tree_, OpenCellTree(paths_.cells_directory, plan_.cell_tree, tree_owner_,
                                             plan_.disk_bytes));
    if (!plan_.from_tree.empty()) {
      ODY_ASSIGN_OR_RETURN(from_tree_, OpenCellTree(paths_.cells_directory, plan_.from_tree,
                                                    tree_owner_, plan_.disk_bytes));
    }
    ODY_ASSIGN_OR_RETURN(tree_map_,
                         first_stored_ == 0 ? MapToCell(tree_owner_, tree_owner_) : MapRange());
    return OkStatus();
  }

  Result<UniqueFd> MapRange() const {
    return MakeRangeNamespace(0, first_stored_, ids_.first, plan::kRangeIds);
  }

  // None if rootless: what the one uid owns is the cell's as it is.
  Result<UniqueFd> MapToCell(uid_t uid, gid_t gid) const {
    return paths_.rootless ? UniqueFd() : MakeMappingNamespace(uid, gid, ids_.uid, ids_.gid);
  }

  Status MountStaging() {
    ODY_ASSIGN_OR_RETURN(UniqueFd place, OpenHostPath(kStagingDirectory));
    ODY_RETURN_IF_ERROR(MountNew("tmpfs", place.get(), kStagingOptions, 0, kStagingDirectory));
    ODY_ASSIGN_OR_RETURN(layers_, MountTree::Open(kStagingDirectory));
    ODY_RETURN_IF_ERROR(layers_.Make("/root", S_IFDIR).status());
    ODY_ASSIGN_OR_RETURN(staged_, MountTree::Open(kStagedRoot));
    if (!plan_.cell_tree.empty()) return OkStatus();

    tree_owner_ = ids_.uid;
    ODY_ASSIGN_OR_RETURN(const UniqueFd on, layers_.Make("/tree", S_IFDIR));
    ODY_RETURN_IF_ERROR(
        MountNew("tmpfs", on.get(), TmpfsOptions(plan_.tmp_bytes, "0711"), 0, "the cell's tree"));
    ODY_ASSIGN_OR_RETURN(tree_, layers_.Make("/tree", S_IFDIR));
    for (const char* directory : kStandardDirectories) {
      ODY_RETURN_IF_ERROR(OpenTreeDirectory(tree_.get(), directory, tree_owner_).status());
    }
    return OkStatus();
  }

  static unsigned long NoExec(bool executable) { return executable ? 0 : MS_NOEXEC; }

  std::string TmpfsOptions(uint64_t bytes, const std::string& mode) const {
    const std::string kib = std::to_string(bytes / 1024);
    // A file takes about a KiB of the kernel's memory, with nothing in it.
    return "size=" + kib + "k,nr_inodes=" + kib + ",mode=" + mode +
           ",uid=" + std::to_string(ids_.uid) + ",gid=" + std::to_string(ids_.gid);
  }

  Status Place(size_t index) {
    const Entry& entry = plan_.entries[index];
    if (image_ && IsOwn(entry.kind)) return OkStatus();  // MakePlaces made it
    switch (entry.kind) {
      case EntryKind::kDirectory:
        return staged_.Make(entry.target, S_IFDIR).status();
      case EntryKind::kSymlink:
        return PlaceSymlink(entry);
      case EntryKind::kFile:
        return PlaceFile(entry);
      case EntryKind::kTmpfs:
        return PlaceTmpfs(entry);
      case EntryKind::kCellTree:
        return PlaceCellTree(entry);
      case EntryKind::kHostTree:
        return PlaceHostTree(entry, &places_[index]);
      case EntryKind::kPart:
        return PlacePart(entry, index);
    }
    return Internal("unknown plan entry");
  }

  // A static one of ours, which cells execute.
  Status PlaceProgram(const char* name, const char* target) {
    const Entry entry = {.target = target, .source = name, .executable = true};
    ODY_ASSIGN_OR_RETURN(const UniqueFd program, OpenInRoot(programs_.get(), name));
    return Bind(staged_, entry, program, UniqueFd()).status();
  }

  Status PlaceSymlink(const Entry& entry) {
    std::string name;
    ODY_ASSIGN_OR_RETURN(UniqueFd parent, staged_.MakeParent(entry.target, &name));
    const int made = symlinkat(entry.source.c_str(), parent.get(), name.c_str());
    return made == 0 ? OkStatus() : ErrnoStatus(errno, "create link " + entry.target);
  }

  Status PlaceFile(const Entry& entry) {
    std::string name;
    ODY_ASSIGN_OR_RETURN(UniqueFd parent, staged_.MakeParent(entry.target, &name));
    UniqueFd fd(openat(parent.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444));
    if (!fd) return ErrnoStatus(errno, "create " + entry.target);
    return WriteAll(fd.get(), entry.source);
  }

  Status PlaceTmpfs(const Entry& entry) {
    ODY_ASSIGN_OR_RETURN(UniqueFd target, staged_.Make(entry.target, S_IFDIR));
    // Read-only: a directory of root's that holds mount points for later entries.
    const std::string options =
        entry.access == Access::kReadOnly
            ? kStagingOptions
            : TmpfsOptions(entry.size_bytes, entry.target == "/tmp" ? "1777" : "0700");
    ODY_RETURN_IF_ERROR(
        MountNew("tmpfs", target.get(), options, NoExec(entry.executable), entry.target));
    ODY_ASSIGN_OR_RETURN(UniqueFd mounted, staged_.Make(entry.target, S_IFDIR));
    return staged_.Own(mounted.get());
  }

  Status PlaceCellTree(const Entry& entry) {
    const UniqueFd& tree = from_tree_ && entry.access == Access::kReadOnly ? from_tree_ : tree_;
    ODY_ASSIGN_OR_RETURN(UniqueFd source, OpenTreeDirectory(tree.get(), entry.source, tree_owner_));
    return Bind(staged_, entry, source, tree_map_).status();
  }

  Status PlaceHostTree(const Entry& entry, UniqueFd* place) {
    struct stat info;
    if (fstat(place->get(), &info) != 0) return ErrnoStatus(errno, "stat " + entry.source);
    if (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode))
      return InvalidArgument("mount " + entry.source + ": neither directory nor regular file");
    if (entry.inode != 0 && (info.st_ino != entry.inode || info.st_dev != entry.device))
      return FailedPrecondition("mount " + entry.source + ": no longer what the client opened");
    const bool anothers = entry.owner != plan::kAnyOwner && entry.owner != info.st_uid;
    const bool system = entry.ownership == Ownership::kUnmapped;
    const gid_t of_writer = entry.owner == plan::kAnyOwner ? info.st_gid : entry.group;
    const gid_t gid = entry.access == Access::kReadOnly ? kUnmappedId : of_writer;
    UniqueFd map;
    if (!system && !anothers) {
      ODY_ASSIGN_OR_RETURN(map, MapToCell(info.st_uid, gid));
    }
    // As it is, a tree shows the cell less than mapped: what any user of the host may read.
    const mode_t others = S_ISDIR(info.st_mode) ? S_IROTH | S_IXOTH : S_IROTH;
    const bool open =
        system || (entry.access == Access::kReadOnly && (info.st_mode & others) == others);
    if (anothers && !open) {
      return PermissionDenied("mount " + entry.source + ": it is uid " +
                              std::to_string(info.st_uid) + "'s, and not the own of uid " +
                              std::to_string(entry.owner) + " (policy/ceiling.md)");
    }
    if (!entry.changes.empty()) return PlaceReviewed(entry, *place, map);
    Result<UniqueFd> mounted = Bind(staged_, entry, *place, map ? map : paths_.unmapped_map);
    if (mounted.status().code() == Code::kFailedPrecondition && open)
      mounted = Bind(staged_, entry, *place, UniqueFd());
    ODY_ASSIGN_OR_RETURN(*place, std::move(mounted));
    return OkStatus();
  }

  // An overlay: the directory is its lower layer, and is only read.
  Status PlaceReviewed(const Entry& entry, const UniqueFd& source, const UniqueFd& map) {
    ODY_RETURN_IF_ERROR(
        OpenTreeDirectory(tree_.get(), entry.changes + "/store", tree_owner_).status());
    ODY_ASSIGN_OR_RETURN(const std::string lower, BindLower(entry.source, source, map));
    return MountOverlay(entry, lower, tree_owner_);
  }

  // Where overlayfs finds a lower layer of this cell.
  Result<std::string> BindLower(const std::string& name, const UniqueFd& source,
                                const UniqueFd& map) {
    const std::string target = "/layers/" + std::to_string(lowers_++);
    ODY_RETURN_IF_ERROR(Bind(layers_, {.target = target, .source = name}, source, map).status());
    return kStagingDirectory + target;
  }

  // With its upper layer in the cell's tree, of which the top is `owner`'s. Its marks are
  // user.overlay.*, which a worker without privileges can read, and which no process can set
  // through the overlay; a renamed directory is copied, so that each layer can be read without the
  // other.
  Status MountOverlay(const Entry& entry, const std::string& lower, uid_t owner) {
    const std::string own = "/layers/own-" + std::to_string(lowers_++);
    for (const char* name : {"/upper", "/work"}) {
      ODY_RETURN_IF_ERROR(OpenTreeDirectory(tree_.get(), entry.changes + name, owner).status());
    }
    ODY_ASSIGN_OR_RETURN(const UniqueFd changes,
                         OpenTreeDirectory(tree_.get(), entry.changes, owner));
    const Entry upper = {.target = own, .source = own, .access = Access::kReadWrite};
    ODY_RETURN_IF_ERROR(Bind(layers_, upper, changes, tree_map_).status());
    ODY_ASSIGN_OR_RETURN(const UniqueFd target, staged_.Make(entry.target, S_IFDIR));
    const std::string at = kStagingDirectory + own;
    const std::string options =
        "userxattr,redirect_dir=nofollow,metacopy=off,index=off,lowerdir=" + lower +
        ",upperdir=" + at + "/upper,workdir=" + at + "/work";
    return MountNew("overlay", target.get(), options, NoExec(entry.executable), entry.source);
  }

  // The root of an image: an overlay of its layers and, above them, of the plan's directories,
  // links and files, and of a place for each mount. These are made here, on a file system of our
  // own, and hide what the image has there, a link for example: nothing is made in what others have
  // written.
  Status MountImage() {
    ODY_RETURN_IF_ERROR(MakePlaces());
    std::string lower = kStagedRoot;
    if (!tree_map_) {
      ODY_ASSIGN_OR_RETURN(layer_map_, MapRange());
    }
    for (size_t i = plan_.layers.size(); i-- > 0;) {
      ODY_ASSIGN_OR_RETURN(const std::string at, BindLower(plan_.layers[i], layers_of_image_[i],
                                                           tree_map_ ? tree_map_ : layer_map_));
      lower += ":" + at;
    }
    const Entry root = {.target = "/",
                        .source = "image",
                        .executable = plan_.root_executable,
                        .changes = plan::kRootChanges};
    const uid_t owner = tree_map_ ? first_stored_ : ids_.first;
    ODY_ASSIGN_OR_RETURN(const UniqueFd upper,
                         OpenTreeDirectory(tree_.get(), root.changes + "/upper", owner));
    const std::string path = "/proc/self/fd/" + std::to_string(upper.get());
    if (chmod(path.c_str(), 0755) != 0) return ErrnoStatus(errno, "open the root to its users");
    ODY_RETURN_IF_ERROR(MountOverlay(root, lower, owner));
    ODY_ASSIGN_OR_RETURN(staged_, MountTree::Open(kStagedRoot));
    ODY_ASSIGN_OR_RETURN(image_, OpenHostPath(kStagedRoot));
    return OkStatus();
  }

  // As the cell's root.
  Status MakePlaces() {
    if (lchown(kStagedRoot, ids_.first, ids_.first) != 0) return ErrnoStatus(errno, "own the root");
    setfsgid(ids_.first);
    setfsuid(ids_.first);
    Status status = staged_.Make(plan::kInitPath, S_IFREG).status();
    if (status.ok() && plan_.fuse_device) status = staged_.Make(plan::kGuardPath, S_IFREG).status();
    for (size_t i = 0; status.ok() && i < plan_.entries.size(); ++i) {
      const Entry& entry = plan_.entries[i];
      struct stat info = {.st_mode = S_IFDIR};
      if (IsOwn(entry.kind)) {
        status = Place(i);
      } else if (entry.kind != EntryKind::kPart) {
        if (places_[i]) fstat(places_[i].get(), &info);
        status = staged_.Make(entry.target, info.st_mode & S_IFMT).status();
      }
      status = status.OfItem(i);
    }
    setfsuid(0);
    setfsgid(0);
    return status;
  }

  static bool IsOwn(EntryKind kind) {
    return kind == EntryKind::kDirectory || kind == EntryKind::kSymlink || kind == EntryKind::kFile;
  }

  // On top of itself. Looked up from the mount around it, which stays what it is whatever happens
  // to its name on the host meanwhile; if that was left out, so is what it held.
  Status PlacePart(const Entry& entry, size_t index) {
    Entry around = {.target = ""};  // the image
    int from = image_.get();
    for (size_t i = index; i-- > 0 && around.target.empty();) {
      if (!plan::IsWithin(entry.target, plan_.entries[i].target)) continue;
      around = plan_.entries[i];
      from = places_[i].get();
    }
    if (from < 0) return OkStatus();
    auto place = OpenInRoot(from, entry.target.substr(around.target.size() + 1));
    if (place.status().code() == Code::kNotFound) return OkStatus();
    if (place.status().code() == Code::kInvalidArgument)
      return around.target.empty() ? OkStatus() : RefusePart(entry, "a symbolic link");
    ODY_RETURN_IF_ERROR(place.status());
    struct stat info;
    if (fstat(place->get(), &info) != 0) return ErrnoStatus(errno, "stat " + entry.target);
    if (around.access == Access::kReadWrite && S_ISREG(info.st_mode) && info.st_nlink > 1)
      return RefusePart(entry, "a file with another name (a hard link)");
    ODY_ASSIGN_OR_RETURN(UniqueFd tree, CloneTree(place->get(), entry.target));
    ODY_RETURN_IF_ERROR(
        SetAttributes(tree.get(),
                      {.read_only = entry.access == Access::kReadOnly || !S_ISDIR(info.st_mode),
                       .no_exec = !entry.executable,
                       .lift_no_exec = entry.executable},
                      entry.target));
    ODY_RETURN_IF_ERROR(AttachTree(tree.get(), place->get(), entry.target));
    if (S_ISDIR(info.st_mode)) places_[index] = std::move(tree);
    return OkStatus();
  }

  // Its program; and its device on a tmpfs without nodev that holds nothing else, of which
  // bubblewrap binds the node alone.
  Status PlaceGuard() {
    if (!paths_.rootless &&
        (mkdir(kDevices, 0755) != 0 ||
         mount("devices", kDevices, "tmpfs", MS_NOSUID | MS_NOEXEC, kStagingOptions) != 0 ||
         mknod(kStagedFuseDevice, S_IFCHR | 0600, makedev(kFuse[0], kFuse[1])) != 0 ||
         chown(kStagedFuseDevice, ids_.uid, ids_.gid) != 0)) {
      return ErrnoStatus(
          errno, "deny: make a node of /dev/fuse (does the service's device policy allow it?)");
    }
    return PlaceProgram("odyssey-cell-guard", plan::kGuardPath);
  }

  static Status RefusePart(const Entry& entry, const std::string& what) {
    const std::string cure = "replace it, or take it out of the policy";
    return FailedPrecondition(entry.target + ": " + what + " cannot be protected or run: " + cure);
  }

  // The mount that the cell will see, if it is a directory.
  static Result<UniqueFd> Bind(const MountTree& into, const Entry& entry, const UniqueFd& source,
                               const UniqueFd& map) {
    struct stat info;
    if (fstat(source.get(), &info) != 0) return ErrnoStatus(errno, "stat " + entry.source);
    const mode_t type = S_ISDIR(info.st_mode) ? S_IFDIR : S_IFREG;
    ODY_ASSIGN_OR_RETURN(UniqueFd target, into.Make(entry.target, type));
    ODY_ASSIGN_OR_RETURN(UniqueFd tree, CloneTree(source.get(), entry.source));
    ODY_RETURN_IF_ERROR(SetAttributes(tree.get(),
                                      {.read_only = entry.access == Access::kReadOnly,
                                       .no_exec = !entry.executable,
                                       .idmap_namespace = map.get()},
                                      entry.source));
    ODY_RETURN_IF_ERROR(AttachTree(tree.get(), target.get(), entry.source));
    return S_ISDIR(info.st_mode) ? std::move(tree) : UniqueFd();
  }

  const plan::Plan& plan_;
  const CellIds& ids_;
  const StagingPaths& paths_;
  const uint32_t first_stored_;  // of the store's range; 0: the cell has none
  // Beside plan_.entries: what a host tree's source is; then the mount of a directory of the host.
  std::vector<UniqueFd> places_;
  UniqueFd programs_;
  MountTree staged_;
  MountTree layers_;  // beside the staged root: no cell sees what is here and not in that
  int lowers_ = 0;
  UniqueFd tree_;         // the cell's own tree
  UniqueFd from_tree_;    // plan_.from_tree
  UniqueFd tree_map_;     // the idmap of both; none in memory
  uid_t tree_owner_ = 0;  // of what root makes in them
  std::vector<UniqueFd> layers_of_image_;
  UniqueFd layer_map_;  // the idmap of them where there is no tree_map_
  UniqueFd image_;      // the mounted root
};

}  // namespace

Result<CellIds> IdsOf(const plan::Plan& plan, uid_t cell_uid, const StagingPaths& paths) {
  if (plan.ids == plan::Ids::kOne) return CellIds{cell_uid, cell_uid};
  if (paths.rootless) return FailedPrecondition("image: a cell with one needs root");
  const uint32_t first = RangeOf(cell_uid, paths.store_uid);
  if (first == 0) return FailedPrecondition("image: --uid-base leaves no ids for its users");
  return CellIds{first + plan.user, first + plan.group, first};
}

Status StageRoot(const plan::Plan& plan, const CellIds& ids, const StagingPaths& paths) {
  return Stager(plan, ids, paths).Run();
}

}  // namespace odyssey::root
