// Files: what has to work in a directory that is the cell's own.

#include <dirent.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "common/os/unique_fd.h"
#include "supervisor/probe/answers.h"
#include "supervisor/probe/groups.h"

namespace odyssey::probe {
namespace {

UniqueFd OpenNew(const char* path) {
  return UniqueFd(open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
}

Finding WriteIn(const std::string& directory) {
  const std::string path = directory + "/odyssey-probe-file";
  if (!Spit(path, "text")) return BrokenAt("write " + path);
  const bool good = Slurp(path) == "text";
  if (unlink(path.c_str()) != 0) return BrokenAt("unlink " + path);
  return WorksIf(good, "read it back");
}

Finding WriteInEnvironments(const char* name) {
  const char* directory = getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
  return directory == nullptr ? Broken(std::string(name) + " is not set") : WriteIn(directory);
}

Finding Workspace(const Targets& targets) {
  if (targets.Is("mode", "read_only")) {
    std::vector<std::string> names;
    return WorksIf(ListDirectory(targets.Text("workspace"), &names), "list the workspace");
  }
  return WriteIn(targets.Text("workspace"));
}

Finding Mounts(const Targets& targets) {
  if (Slurp(targets.Text("ro") + "/file").empty()) return BrokenAt("read from the read-only mount");
  return WriteIn(targets.Text("rw"));
}

Finding LargeFile(const Targets&) {
  const UniqueFd fd = OpenNew("large");
  constexpr off_t kFar = off_t{6} << 30;
  if (pwrite(fd.get(), "end", 3, kFar) != 3) return BrokenAt("write beyond 4 GiB");
  struct stat info;
  return WorksIf(fstat(fd.get(), &info) == 0 && info.st_size == kFar + 3, "its size");
}

Finding Names(const Targets&) {
  if (!Spit("a", "x") || mkdir("d", 0700) != 0) return BrokenAt("make");
  if (rename("a", "d/b") != 0) return BrokenAt("rename");
  if (renameat2(AT_FDCWD, "d/b", AT_FDCWD, "d/c", RENAME_NOREPLACE) != 0)
    return BrokenAt("renameat2");
  if (link("d/c", "hard") != 0 || symlink("hard", "soft") != 0) return BrokenAt("link");
  char target[8] = "";
  if (readlink("soft", target, sizeof(target)) != 4) return BrokenAt("readlink");
  return WorksIf(unlink("hard") == 0 && unlink("d/c") == 0 && rmdir("d") == 0, "remove");
}

Finding Modes(const Targets&) {
  if (!Spit("a", "x") || chmod("a", 0640) != 0) return BrokenAt("chmod");
  const timespec times[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
  if (utimensat(AT_FDCWD, "a", times, 0) != 0) return BrokenAt("utimensat");
  struct stat info;
  if (stat("a", &info) != 0 || (info.st_mode & 07777) != 0640) return BrokenAt("stat");
  return WorksIf(info.st_mtime == 1'000'000'000 && chown("a", getuid(), getgid()) == 0, "times");
}

Finding Locks(const Targets&) {
  const UniqueFd fd = OpenNew("lock");
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return BrokenAt("flock");
  struct flock whole {};
  whole.l_type = F_WRLCK;
  if (fcntl(fd.get(), F_SETLK, &whole) != 0) return BrokenAt("fcntl lock");
  return WorksIf(fcntl(fd.get(), F_OFD_SETLK, &whole) == 0 || errno == EAGAIN, "descriptor lock");
}

Finding Attributes(const Targets&) {
  if (!Spit("a", "x")) return BrokenAt("make");
  if (setxattr("a", "user.odyssey", "v", 1, 0) != 0) {
    if (errno == EOPNOTSUPP) return NotApplicable("this file system has no attributes");
    return BrokenAt("setxattr");
  }
  char value[8];
  return WorksIf(getxattr("a", "user.odyssey", value, sizeof(value)) == 1, "getxattr");
}

Finding MappedFile(const Targets&) {
  const UniqueFd fd = OpenNew("mapped");
  if (ftruncate(fd.get(), 4096) != 0) return BrokenAt("ftruncate");
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) return BrokenAt("mmap");
  memcpy(memory, "text", 4);
  return WorksIf(msync(memory, 4096, MS_SYNC) == 0 && Slurp("mapped").rfind("text", 0) == 0,
                 "msync");
}

Finding Copies(const Targets&) {
  if (!Spit("from", "text")) return BrokenAt("make");
  const UniqueFd from(open("from", O_RDONLY | O_CLOEXEC));
  const UniqueFd to = OpenNew("to");
  off_t begin = 0;
  if (sendfile(to.get(), from.get(), &begin, 4) != 4) return BrokenAt("sendfile");
  off_t in = 0, out = 4;
  if (copy_file_range(from.get(), &in, to.get(), &out, 4, 0) != 4)
    return BrokenAt("copy_file_range");
  return WorksIf(Slurp("to") == "texttext", "the copy");
}

Finding Space(const Targets&) {
  const UniqueFd fd = OpenNew("space");
  if (posix_fallocate(fd.get(), 0, 65536) != 0) return BrokenAt("fallocate");
  struct statfs info;
  if (statfs(".", &info) != 0) return BrokenAt("statfs");
  return WorksIf(fsync(fd.get()) == 0 && fdatasync(fd.get()) == 0, "fsync");
}

Finding NamelessFile(const Targets&) {
  const UniqueFd fd(open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!fd && errno == EOPNOTSUPP) return NotApplicable("this file system has none");
  if (!fd) return BrokenAt("O_TMPFILE");
  const std::string path = "/proc/self/fd/" + std::to_string(fd.get());
  return WorksIf(linkat(AT_FDCWD, path.c_str(), AT_FDCWD, "named", AT_SYMLINK_FOLLOW) == 0,
                 "name it");
}

Finding Watch(const Targets&) {
  const UniqueFd fd(inotify_init1(IN_CLOEXEC));
  if (inotify_add_watch(fd.get(), ".", IN_CREATE) < 0) return BrokenAt("inotify");
  if (!Spit("new", "x")) return BrokenAt("make");
  char events[512];
  return WorksIf(read(fd.get(), events, sizeof(events)) > 0, "read the event");
}

Finding Fifo(const Targets&) {
  if (mkfifo("fifo", 0600) != 0) return BrokenAt("mkfifo");
  const UniqueFd both(open("fifo", O_RDWR | O_CLOEXEC));
  char text[2];
  return WorksIf(write(both.get(), "hi", 2) == 2 && read(both.get(), text, 2) == 2, "read");
}

Finding Devices(const Targets&) {
  char bytes[16];
  const UniqueFd zero(open("/dev/zero", O_RDONLY | O_CLOEXEC));
  const UniqueFd random(open("/dev/urandom", O_RDONLY | O_CLOEXEC));
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  const UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  if (read(zero.get(), bytes, 16) != 16 || read(random.get(), bytes, 16) != 16)
    return BrokenAt("read");
  if (write(null.get(), "x", 1) != 1 || getrandom(bytes, 16, 0) != 16) return BrokenAt("write");
  return WorksIf(write(full.get(), "x", 1) < 0 && errno == ENOSPC, "/dev/full");
}

// By the files alone: this program is static, and loads no name service.
Finding OwnName(const Targets& targets) {
  FILE* file = fopen("/etc/passwd", "re");
  if (file == nullptr) return BrokenAt("open /etc/passwd");
  std::string name;
  // Only this thread reads this stream.
  while (const passwd* entry = fgetpwent(file)) {  // NOLINT(concurrency-mt-unsafe)
    if (entry->pw_uid == getuid()) name = entry->pw_name;
  }
  fclose(file);
  if (!name.empty()) return Works(name);
  if (IsOfImage(targets, "/etc/passwd")) return NotApplicable("the image has no such user");
  return Broken("uid " + std::to_string(getuid()) + " has no name");
}

Finding NameServices(const Targets&) {
  if (Slurp("/etc/hosts").find("localhost") == std::string::npos) return Broken("no localhost");
  return WorksIf(Slurp("/etc/nsswitch.conf").find("hosts:") != std::string::npos, "nsswitch.conf");
}

}  // namespace

void AddWorkingFiles(Probes* all) {
  const auto add = [all](const std::string& id, const char* what, Attempt attempt) {
    all->push_back({"works." + id, what, "", std::move(attempt)});
  };
  add("workspace", "writing there, or reading in read_only mode", Workspace);
  add("mounts", "reading and writing mounts as they are granted", Mounts);
  for (const char* name : {"HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_DATA_HOME"}) {
    add(std::string("write:") + name, "writing there",
        [name](const Targets&) { return WriteInEnvironments(name); });
  }
  for (const char* path : {"/tmp", "/var/tmp", "/dev/shm"}) {
    add(std::string("write:") + path, "writing there",
        [path](const Targets&) { return WriteIn(path); });
  }
  add("large_file", "a file beyond 4 GiB", LargeFile);
  add("names", "renaming, linking, removing", Names);
  add("modes", "modes, times, owners", Modes);
  add("locks", "locks of three kinds", Locks);
  add("attributes", "extended attributes", Attributes);
  add("mapped_file", "a shared mapping of a file", MappedFile);
  add("copies", "sendfile, copy_file_range", Copies);
  add("space", "allocating, syncing, asking for what is free", Space);
  add("nameless_file", "a file without a name that gets one", NamelessFile);
  add("inotify", "watching a directory", Watch);
  add("fifo", "named pipes", Fifo);
  add("devices", "null, zero, full, urandom", Devices);
  add("own_name", "the user has a name", OwnName);
  add("name_services", "/etc/hosts, /etc/nsswitch.conf", NameServices);
}

}  // namespace odyssey::probe
