#include "supervisor/root/cell_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/os/file.h"
#include "common/os/mount_calls.h"

namespace odyssey::root {
namespace {

constexpr char kHasDisk[] = "limits.disk_bytes: 0: the cell has a disk: give its size, or purge it";

// Descends one component, making it if it is missing.
Result<UniqueFd> Descend(int parent, const std::string& name, uid_t owner,
                         const std::string& path) {
  if (mkdirat(parent, name.c_str(), 0700) == 0) {
    if (fchownat(parent, name.c_str(), owner, owner, AT_SYMLINK_NOFOLLOW) != 0) {
      return ErrnoStatus(errno, "change the owner of " + path);
    }
  } else if (errno != EEXIST) {
    return ErrnoStatus(errno, "create " + path);
  }
  UniqueFd fd(openat(parent, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd) return fd;
  const int error = errno;
  struct stat info;
  if (fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(info.st_mode)) {
    return InvalidArgument("sandbox path must not be a symlink: " + path);
  }
  if (error == ENOTDIR) return InvalidArgument("sandbox path must be a directory: " + path);
  return ErrnoStatus(error, "open " + path);
}

// Runs a program to its end, in that directory (-1: in ours); our end is its end too.
bool Run(const char* const argv[], int directory) {
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (directory < 0 || fchdir(directory) == 0) execv(argv[0], const_cast<char**>(argv));
    _exit(127);
  }
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

// What fails the program says itself; our words are for when it could not.
Status MountDisk(int tree, uint64_t size) {
  ODY_ASSIGN_OR_RETURN(const std::string programs, ProgramDirectory());
  const std::string program = programs + "/odyssey-cell-disk";
  const std::string bytes = std::to_string(size);
  const char* const argv[] = {program.c_str(), bytes.c_str(), nullptr};
  if (Run(argv, tree)) return OkStatus();
  return FailedPrecondition("limits.disk_bytes: " + bytes + ": " + program + " cannot be run");
}

}  // namespace

Result<UniqueFd> OpenTreeDirectory(int tree, const std::string& path, uid_t owner) {
  UniqueFd at(dup(tree));
  for (size_t begin = 0; begin <= path.size();) {
    const size_t slash = path.find('/', begin);
    ODY_ASSIGN_OR_RETURN(
        at, Descend(at.get(), path.substr(begin, slash - begin), owner, path.substr(0, slash)));
    if (slash == std::string::npos) break;
    begin = slash + 1;
  }
  return at;
}

Result<UniqueFd> OpenCellTree(const std::string& cells_directory, const std::string& tree,
                              uid_t store_uid, uint64_t disk_bytes) {
  ODY_ASSIGN_OR_RETURN(UniqueFd cells, OpenHostPath(cells_directory));
  auto root = OpenTreeDirectory(cells.get(), tree, geteuid());
  // The removal of a cell beside this one takes parents away that it has emptied.
  for (int tries = 1; root.status().code() == Code::kNotFound && tries < 100; ++tries)
    root = OpenTreeDirectory(cells.get(), tree, geteuid());
  ODY_RETURN_IF_ERROR(root.status());
  if (disk_bytes != 0) {
    ODY_RETURN_IF_ERROR(MountDisk(root->get(), disk_bytes));
    ODY_ASSIGN_OR_RETURN(root, OpenTreeDirectory(root->get(), "disk", geteuid()));
  } else if (faccessat(root->get(), "disk.img", F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
    return FailedPrecondition(kHasDisk);
  }
  for (const char* directory : kStandardDirectories) {
    ODY_RETURN_IF_ERROR(OpenTreeDirectory(root->get(), directory, store_uid).status());
  }
  return root;
}

Result<pid_t> StartRemovingCellTree(const std::string& cells_directory, const std::string& tree) {
  const std::string path = cells_directory + "/" + tree;
  const pid_t child = fork();
  if (child < 0) return ErrnoStatus(errno, "fork");
  if (child > 0) return child;

  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const char* const rm[] = {"/bin/rm", "-rf", "--one-file-system", "--", path.c_str(), nullptr};
  if (!Run(rm, -1)) _exit(1);
  // Emptied parents up to the cells directory go too.
  std::string parent = path.substr(0, path.rfind('/'));
  while (parent.size() > cells_directory.size() && rmdir(parent.c_str()) == 0) {
    parent.resize(parent.rfind('/'));
  }
  _exit(0);
}

}  // namespace odyssey::root
