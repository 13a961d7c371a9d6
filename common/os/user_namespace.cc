#include "common/os/user_namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "common/os/file.h"
#include "common/os/message_socket.h"

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

// A line of a map: `count` ids from `inside` on are those from `outside` on.
std::string Extent(uint32_t inside, uint32_t outside, uint32_t count = 1) {
  if (count == 0) return "";
  return std::to_string(inside) + " " + std::to_string(outside) + " " + std::to_string(count) +
         "\n";
}

// The identity mapping with these two exchanged; or a mapping of one unused id. As many lines as
// a map has room for without another allocation, and one at least. The last id is no id.
std::string Exchange(uint32_t one, uint32_t other) {
  if (one == kUnmappedId) return Extent(one, one);
  const auto [low, high] = std::minmax(one, other);
  return Extent(0, 0, low) + Extent(low, high) + Extent(low + 1, low + 1, high - low - 1) +
         Extent(high, low) + Extent(high + 1, high + 1, UINT32_MAX - high - 1);
}

Result<UniqueFd> FillNamespace(pid_t child, int channel, const std::string& uids,
                               const std::string& gids) {
  char byte;
  if (read(channel, &byte, 1) != 1) return Internal("create user namespace: the child failed");
  const std::string proc = "/proc/" + std::to_string(child);
  ODY_RETURN_IF_ERROR(WriteControlFile(proc + "/uid_map", uids));
  ODY_RETURN_IF_ERROR(WriteControlFile(proc + "/gid_map", gids));
  UniqueFd fd(open((proc + "/ns/user").c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, "open " + proc + "/ns/user");
  return fd;
}

Result<UniqueFd> MakeNamespace(uid_t owner, const std::string& uids, const std::string& gids) {
  ODY_ASSIGN_OR_RETURN(auto channel, MessageSocketPair());
  auto& [ours, theirs] = channel;
  const pid_t child = fork();
  if (child < 0) return ErrnoStatus(errno, "fork");
  if (child == 0) {
    ours.reset();
    BirthChild(owner, theirs.get());
  }
  theirs.reset();
  auto result = FillNamespace(child, ours.get(), uids, gids);
  ours.reset();  // the child's read ends, and with it the child
  (void)TEMP_FAILURE_RETRY(waitpid(child, nullptr, 0));
  return result;
}

}  // namespace

Result<UniqueFd> MakeCellNamespace(uid_t cell_uid, uid_t inside) {
  return MakeNamespace(cell_uid, Extent(inside, cell_uid), Extent(inside, cell_uid));
}

Result<UniqueFd> MakeRangeNamespace(uid_t owner, uint32_t inside, uint32_t outside,
                                    uint32_t count) {
  // overlayfs makes its work directory with the ids of the process that mounted it.
  const std::string range = (owner == 0 ? Extent(0, 0) : "") + Extent(inside, outside, count);
  return MakeNamespace(owner, range, range);
}

Result<UniqueFd> MakeMappingNamespace(uid_t uid, gid_t gid, uid_t cell_uid, gid_t cell_gid) {
  return MakeNamespace(0, Exchange(uid, cell_uid), Exchange(gid, cell_gid));
}

}  // namespace odyssey
