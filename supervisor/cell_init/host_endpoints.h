#ifndef ODYSSEY_SUPERVISOR_CELL_INIT_HOST_ENDPOINTS_H_
#define ODYSSEY_SUPERVISOR_CELL_INIT_HOST_ENDPOINTS_H_

// Unix sockets and named pipes that lie in a writable tree of the host, at which somebody outside
// the cell may hear. Neither a mount flag nor Landlock closes them: who may write a directory's
// files may write to its pipes and connect to its sockets.

#include <string>

#include "common/base/status.h"
#include "common/os/unique_fd.h"

namespace odyssey::cell_init {

// `place` is O_PATH. A pipe, or a socket to which somebody is bound: one to which nobody is was
// left, and is there to be removed or bound anew. Whoever hears there does not notice.
bool IsHostEndpoint(int place);

// Makes endpoints unreachable, each by a mount of a socket on top of it, to which nobody is bound
// and nobody can be: connecting and opening fail with EACCES. Caller has CAP_SYS_ADMIN in
// the user namespace of its own mount namespace, with a /dev that it may write.
class EndpointCover final {
 public:
  EndpointCover() = default;
  EndpointCover(const EndpointCover&) = delete;
  EndpointCover& operator=(const EndpointCover&) = delete;
  ~EndpointCover();

  // `path` is of `place`, for errors.
  Status Put(int place, const std::string& path);

 private:
  Status Make();

  UniqueFd socket_;  // O_PATH; made when it is first needed
};

}  // namespace odyssey::cell_init

#endif  // ODYSSEY_SUPERVISOR_CELL_INIT_HOST_ENDPOINTS_H_
