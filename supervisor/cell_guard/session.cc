#include "supervisor/cell_guard/session.h"

#include <errno.h>
#include <fuse_lowlevel.h>

#include <string>

namespace odyssey::cell_guard {

Result<Session> Session::Open(GuardedTree* tree, const fuse_operations& operations) {
  char name[] = "cell-guard";
  char* argv[] = {name, nullptr};
  fuse_args arguments = FUSE_ARGS_INIT(1, argv);
  Session session(fuse_new(&arguments, &operations, sizeof(operations), tree));
  if (session.fuse_ == nullptr) return Internal("start the guard's file system");
  const std::string mounted = "/dev/fd/" + std::to_string(tree->fuse.get());
  if (fuse_mount(session.fuse_.get(), mounted.c_str()) != 0) {
    return Internal("take over the guard's mount");
  }
  return session;
}

int Session::fd() const { return fuse_session_fd(fuse_get_session(fuse_.get())); }

Result<bool> Session::ServeOne(fuse_buf* buffer) {
  fuse_session* session = fuse_get_session(fuse_.get());
  const int received = fuse_session_receive_buf(session, buffer);
  if (received == -EINTR || received == -EAGAIN) return true;
  if (received < 0) return ErrnoStatus(-received, "read the guard's requests");
  if (received > 0) fuse_session_process_buf(session, buffer);
  return received > 0 && fuse_session_exited(session) == 0;
}

}  // namespace odyssey::cell_guard
