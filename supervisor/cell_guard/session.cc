#include "supervisor/cell_guard/session.h"

#include <errno.h>
#include <fuse_lowlevel.h>
#include <malloc.h>
#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

namespace odyssey::cell_guard {
namespace {

constexpr int kTableBytes = 32 * 1024;

class Session;

// The one whose request is answered: libfuse gives nothing of ours to what writes an answer.
Session* answering = nullptr;

// One tree's connection with the kernel.
class Session final {
 public:
  static Result<Session> Open(GuardedTree* tree, const fuse_operations& operations) {
    char name[] = "cell-guard";
    char* argv[] = {name, nullptr};
    fuse_args arguments = FUSE_ARGS_INIT(1, argv);
    Session session(fuse_new(&arguments, &operations, sizeof(operations), tree), tree);
    if (session.fuse_ == nullptr) return Internal("start the guard's file system");
    const std::string mounted = "/dev/fd/" + std::to_string(tree->fuse.get());
    if (fuse_mount(session.fuse_.get(), mounted.c_str()) != 0) {
      return Internal("take over the guard's mount");
    }
    const fuse_custom_io io = {.writev = Write, .read = Read};
    if (fuse_session_custom_io(session.session(), &io, session.fd()) != 0) {
      return Internal("set up the guard's connection");
    }
    return session;
  }

  int fd() const { return fuse_session_fd(session()); }

  // What waits now, if anything does. False when it has been unmounted.
  Result<bool> ServeOne(fuse_buf* buffer) {
    const int received = fuse_session_receive_buf(session(), buffer);
    if (received == -EINTR || received == -EAGAIN) return true;
    if (received < 0) return ErrnoStatus(-received, "read the guard's requests");
    if (received > 0) {
      tree_->open_nodes.Begin(buffer->mem, buffer->size);
      answering = this;
      fuse_session_process_buf(session(), buffer);
      answering = nullptr;
    }
    return received > 0 && fuse_session_exited(session()) == 0;
  }

 private:
  struct Destroy {
    void operator()(struct fuse* fuse) const { fuse_destroy(fuse); }
  };

  Session(struct fuse* fuse, GuardedTree* tree) : fuse_(fuse), tree_(tree) {}

  static ssize_t Read(int fd, void* buffer, size_t size, void*) { return read(fd, buffer, size); }

  static ssize_t Write(int fd, iovec* parts, int count, void*) {
    if (answering != nullptr) std::exchange(answering, nullptr)->OnAnswer(parts, count);
    return writev(fd, parts, count);
  }

  // Before the kernel has it. A file that was linked has another count of names.
  void OnAnswer(const iovec* parts, int count) {
    tree_->open_nodes.Answer(parts, count);
    const uint64_t linked = tree_->open_nodes.linked();
    if (linked != 0) fuse_lowlevel_notify_inval_inode(session(), linked, -1, 0);
  }

  fuse_session* session() const { return fuse_get_session(fuse_.get()); }

  std::unique_ptr<struct fuse, Destroy> fuse_;
  GuardedTree* tree_;
};

}  // namespace

Status ServeSessions(std::vector<GuardedTree>* trees, const fuse_operations& operations) {
  // libfuse's tables are large and mostly empty: as mappings they take the pages that are used.
  mallopt(M_MMAP_THRESHOLD, kTableBytes);
  std::vector<Session> sessions;
  std::vector<pollfd> polled;
  for (GuardedTree& tree : *trees) {
    ODY_ASSIGN_OR_RETURN(Session session, Session::Open(&tree, operations));
    polled.push_back({session.fd(), POLLIN, 0});
    sessions.push_back(std::move(session));
  }
  fuse_buf buffer{};  // of one size for all, which the first request decides
  for (size_t left = sessions.size(); left > 0;) {
    if (poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) {
      return ErrnoStatus(errno, "poll");
    }
    for (size_t i = 0; i < sessions.size(); ++i) {
      if (polled[i].revents == 0) continue;
      ODY_ASSIGN_OR_RETURN(const bool more, sessions[i].ServeOne(&buffer));
      if (more) continue;
      polled[i].fd = -1;  // poll looks at it no more
      --left;
    }
  }
  return OkStatus();
}

}  // namespace odyssey::cell_guard
