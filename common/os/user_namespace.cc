#include "common/os/user_namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "common/os/file.h"

namespace odyssey {
namespace {

// Becomes `owner` but keeps its capabilities over the change of uid, so that the new namespace is
// owned by `owner` and unshare is still allowed. Forked child; reports by exit status.
bool BecomeOwner(uid_t owner) {
  return prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP | SECBIT_KEEP_CAPS, 0, 0, 0) == 0 &&
         setresgid(owner, owner, owner) == 0 && setresuid(owner, owner, owner) == 0;
}

// The child that the namespace is born in: says one byte when it is, then waits for the end of
// input.
[[noreturn]] void BirthChild(uid_t owner, int channel) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (owner != 0 && !BecomeOwner(owner)) _exit(1);
  if (unshare(CLONE_NEWUSER) != 0) _exit(2);
  char byte = 'u';
  if (write(channel, &byte, 1) != 1) _exit(3);
  (void)!read(channel, &byte, 1);
  _exit(0);
}

Status WriteMap(const std::string& path, uint32_t inside, uint32_t outside) {
  return WriteControlFile(path, std::to_string(inside) + " " + std::to_string(outside) + " 1\n");
}

struct Map {
  uint32_t inside_uid, outside_uid, inside_gid, outside_gid;
};

Result<UniqueFd> FillNamespace(pid_t child, int channel, const Map& map) {
  char byte;
  if (read(channel, &byte, 1) != 1) return Internal("create user namespace: the child failed");
  const std::string proc = "/proc/" + std::to_string(child);
  ODY_RETURN_IF_ERROR(WriteMap(proc + "/uid_map", map.inside_uid, map.outside_uid));
  ODY_RETURN_IF_ERROR(WriteMap(proc + "/gid_map", map.inside_gid, map.outside_gid));
  UniqueFd fd(open((proc + "/ns/user").c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, "open " + proc + "/ns/user");
  return fd;
}

Result<UniqueFd> MakeNamespace(uid_t owner, const Map& map) {
  int channel[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) != 0) {
    return ErrnoStatus(errno, "create socket pair");
  }
  UniqueFd ours(channel[0]);
  UniqueFd theirs(channel[1]);
  const pid_t child = fork();
  if (child < 0) return ErrnoStatus(errno, "fork");
  if (child == 0) {
    ours.reset();
    BirthChild(owner, theirs.get());
  }
  theirs.reset();
  auto result = FillNamespace(child, ours.get(), map);
  ours.reset();  // the child's read ends, and with it the child
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return result;
}

}  // namespace

Result<UniqueFd> MakeCellNamespace(uid_t cell_uid, uid_t inside) {
  return MakeNamespace(cell_uid, {inside, cell_uid, inside, cell_uid});
}

Result<UniqueFd> MakeMappingNamespace(uid_t uid, gid_t gid, uid_t cell_uid) {
  return MakeNamespace(0, {uid, cell_uid, gid, cell_uid});
}

}  // namespace odyssey
