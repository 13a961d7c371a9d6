#ifndef ODYSSEY_SUPERVISOR_CELL_INIT_HOST_ENDPOINTS_H_
#define ODYSSEY_SUPERVISOR_CELL_INIT_HOST_ENDPOINTS_H_

// Unix sockets and named pipes that lie in a writable tree of the host, at which somebody outside
// the cell may hear. Neither a mount flag nor Landlock closes them: who may write a directory's
// files may write to its pipes and connect to its sockets.

#include <string>

#include "common/base/status.h"
#include "common/os/unique_fd.h"

namespace odyssey::cell_init {

// A directory entry's type, DT_*: whether it is worth to look at. Some file systems tell none.
bool MayBeEndpoint(unsigned char type);

enum class Endpoint { kNone, kSocket, kPipe };

// What lies at `place`, which is O_PATH: a pipe, or a socket to which somebody is bound. One to
// which nobody is was left, and is there to be removed or bound anew. Whoever hears there does not
// notice.
Endpoint HostEndpoint(int place);

bool IsMountPoint(int place);

// Makes endpoints unreachable, each by a mount of a socket on top of it, to which nobody is bound
// and nobody can be; and directories, by that of an empty one. Connecting, opening and entering
// fail with EACCES, and neither's mode changes. Caller has CAP_SYS_ADMIN in the user namespace of
// its own mount namespace, with a /dev that it may write.
class Cover final {
 public:
  Cover() = default;
  Cover(const Cover&) = delete;
  Cover& operator=(const Cover&) = delete;
  ~Cover();

  // `place` is O_PATH, an endpoint or a directory; `path` is its name, for errors.
  Status Put(int place, const std::string& path);

 private:
  Status Make();

  UniqueFd socket_, directory_;  // O_PATH; made when they are first needed
};

}  // namespace odyssey::cell_init

#endif  // ODYSSEY_SUPERVISOR_CELL_INIT_HOST_ENDPOINTS_H_
