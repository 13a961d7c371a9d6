#include "supervisor/cell_disk/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "common/os/unique_fd.h"

namespace odyssey::cell_disk {
namespace {

constexpr char kImage[] = "disk.img";       // whole, always
constexpr char kUnfinished[] = "disk.new";  // what became of one that is not
constexpr char kMkfs[] = "/sbin/mkfs.ext4";
constexpr uint64_t kBlock = 4096;  // -b below
// What the cell removes is the host's again; after an error the file system is read-only.
constexpr char kOptions[] = "discard,errors=remount-ro";
constexpr int kAttempts = 100;  // others take free loop devices too

std::string PathOf(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

[[noreturn]] void BecomeMkfs(int image, int tree) {
  const std::string path = PathOf(image);
  // All for the cell; an inode for every two blocks; and the file reads as zeros already.
  const char* const argv[] = {
      "mkfs.ext4",  "-qF",  "-m0", "-b4096", "-i8192", "-I256", "-Eassume_storage_prezeroed=1",
      path.c_str(), nullptr};
  const char* const no_environment[] = {nullptr};
  // It has the lock of the tree as long as it lives, and does not outlive us.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && fcntl(image, F_SETFD, 0) == 0 &&
      fcntl(tree, F_SETFD, 0) == 0 && dup2(STDOUT_FILENO, STDERR_FILENO) >= 0) {
    execve(kMkfs, const_cast<char**>(argv), const_cast<char**>(no_environment));
  }
  _exit(127);
}

Status MakeFilesystem(int image, int tree) {
  const pid_t child = fork();
  if (child == 0) BecomeMkfs(image, tree);
  int status = -1;
  if (child > 0 && waitpid(child, &status, 0) == child && status == 0) return OkStatus();
  return FailedPrecondition(std::string(kMkfs) + (WEXITSTATUS(status) == 127
                                                      ? ": not there; install e2fsprogs"
                                                      : ": failed; is there space on the host?"));
}

// Under another name until it is whole, and that on the host's disk.
Status MakeImage(int tree, uint64_t bytes, UniqueFd* image) {
  // As every tree without a disk has.
  if (faccessat(tree, "app", F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
    return FailedPrecondition(
        "the cell has directories on the host's file system; start it without disk_bytes, or "
        "start it so and purge it (odyssey-ctl cell rm CELL --purge) first");
  }
  image->reset(
      openat(tree, kUnfinished, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!*image || ftruncate(image->get(), static_cast<off_t>(bytes)) != 0) {
    return ErrnoStatus(errno, "make the cell's disk.new of this size");
  }
  ODY_RETURN_IF_ERROR(MakeFilesystem(image->get(), tree));
  if (fsync(image->get()) == 0 && renameat(tree, kUnfinished, tree, kImage) == 0 &&
      fsync(tree) == 0) {
    return OkStatus();
  }
  return ErrnoStatus(errno, "keep the cell's disk.img");
}

Result<UniqueFd> OpenImage(int tree, uint64_t bytes) {
  UniqueFd image(openat(tree, kImage, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!image && errno != ENOENT) return ErrnoStatus(errno, "open the cell's disk.img");
  if (!image) ODY_RETURN_IF_ERROR(MakeImage(tree, bytes, &image));
  // The loop device holds this very description, and so the lock, until the last mount is gone: a
  // disk is never mounted twice, even while an earlier cell's processes still exit.
  struct stat info;
  if (flock(image.get(), LOCK_EX) != 0 || fstat(image.get(), &info) != 0) {
    return ErrnoStatus(errno, "lock the cell's disk.img");
  }
  if (!S_ISREG(info.st_mode)) return InvalidArgument("the cell's disk.img is no regular file");
  if (static_cast<uint64_t>(info.st_size) == bytes) return image;
  return FailedPrecondition("the cell's disk has " + std::to_string(info.st_size) +
                            " for good; ask for as much, or do so and purge the cell "
                            "(odyssey-ctl cell rm CELL --purge) first");
}

Result<UniqueFd> AttachLoop(int image, std::string* path) {
  const UniqueFd control(open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  if (!control) return ErrnoStatus(errno, "open /dev/loop-control");
  loop_config config{};
  config.fd = static_cast<uint32_t>(image);
  config.block_size = kBlock;
  config.info.lo_flags = LO_FLAGS_AUTOCLEAR;
  for (int i = 0; i < kAttempts; ++i) {
    *path = "/dev/loop" + std::to_string(ioctl(control.get(), LOOP_CTL_GET_FREE));
    UniqueFd device(open(path->c_str(), O_RDWR | O_CLOEXEC));
    if (device && ioctl(device.get(), LOOP_CONFIGURE, &config) == 0) return device;
    if (errno != EBUSY) break;
  }
  return ErrnoStatus(errno, "attach the cell's disk.img to " + *path);
}

}  // namespace

Status MountDisk(int tree, uint64_t bytes) {
  if (flock(tree, LOCK_EX) != 0) return ErrnoStatus(errno, "lock the cell's tree");
  ODY_ASSIGN_OR_RETURN(const UniqueFd image, OpenImage(tree, bytes));
  if (mkdirat(tree, "disk", 0700) != 0 && errno != EEXIST) return ErrnoStatus(errno, "create disk");
  const UniqueFd place(openat(tree, "disk", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!place) return ErrnoStatus(errno, "open the cell's disk");
  std::string loop;
  ODY_ASSIGN_OR_RETURN(const UniqueFd device, AttachLoop(image.get(), &loop));
  if (mount(loop.c_str(), PathOf(place.get()).c_str(), "ext4", MS_NOSUID | MS_NODEV, kOptions) !=
      0) {
    return ErrnoStatus(errno, "mount the cell's disk");
  }
  return OkStatus();
}

}  // namespace odyssey::cell_disk
