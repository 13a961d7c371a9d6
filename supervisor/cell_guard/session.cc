#include "supervisor/cell_guard/session.h"

#include <errno.h>
#include <fuse_lowlevel.h>
#include <linux/fuse.h>
#include <malloc.h>
#include <poll.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "supervisor/cell_guard/file_locks.h"

namespace odyssey::cell_guard {
namespace {

constexpr int kTableBytes = 32 * 1024;
constexpr uint64_t kOwnRequest = ~uint64_t{0};  // the kernel counts up from 0

// What the kernel asks to rename: names in directories, by their nodes.
struct RenameRequest {
  uint64_t unique = 0;
  uint64_t from_node = 0, to_node = 0;
  std::string from, to;
};

// nullopt for any other request.
std::optional<RenameRequest> RenameIn(const fuse_buf& request) {
  fuse_in_header header;
  fuse_rename_in first;  // as fuse_rename2_in begins
  if (request.size < sizeof(header) + sizeof(first)) return std::nullopt;
  const auto* bytes = static_cast<const char*>(request.mem);
  memcpy(&header, bytes, sizeof(header));
  memcpy(&first, bytes + sizeof(header), sizeof(first));
  const bool with_flags = header.opcode == FUSE_RENAME2;
  if (!with_flags && header.opcode != FUSE_RENAME) return std::nullopt;
  const size_t fixed = with_flags ? sizeof(fuse_rename2_in) : sizeof(fuse_rename_in);
  const size_t begin = std::min(sizeof(header) + fixed, request.size);
  const std::string_view names(bytes + begin, request.size - begin);
  const size_t end = std::min(names.find('\0'), names.size());
  const std::string_view rest = names.substr(std::min(end + 1, names.size()));
  return RenameRequest{header.unique, header.nodeid, first.newdir,
                       std::string(names.substr(0, end)),
                       std::string(rest.substr(0, rest.find('\0')))};
}

class Session;

// The one whose request is answered: libfuse gives nothing of ours to what writes an answer.
Session* answering = nullptr;
// A question of our own is.
bool asking = false;

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
    if (received > 0 && !tree_->locks.Take(buffer->mem, buffer->size, JudgeLock(), SendLock())) {
      tree_->open_nodes.Begin(buffer->mem, buffer->size);
      if (const auto rename = RenameIn(*buffer); rename && WouldWaitForItself(*rename)) {
        Answer(rename->unique, ESTALE);  // then the kernel looks at all names anew
      } else {
        answering = this;
        fuse_session_process_buf(session(), buffer);
        answering = nullptr;
      }
    }
    return received > 0 && fuse_session_exited(session()) == 0;
  }

  // Commands that wait for a lock.
  FileLocks& locks() { return tree_->locks; }
  void RetryLocks() { tree_->locks.Retry(JudgeLock(), SendLock()); }

 private:
  struct Destroy {
    void operator()(struct fuse* fuse) const { fuse_destroy(fuse); }
  };

  Session(struct fuse* fuse, GuardedTree* tree) : fuse_(fuse), tree_(tree) {}

  // libfuse locks all names of both paths, and waits for another thread where one path leads to or
  // through the other's end. There is none. The kernel asks for no such rename by the names that it
  // knows, which are old where another process has put another file or has moved a directory.
  bool WouldWaitForItself(const RenameRequest& rename) {
    if (rename.from_node == rename.to_node) return rename.from == rename.to;
    const std::string from_directory = PathOfNode(rename.from_node);
    const std::string to_directory = PathOfNode(rename.to_node);
    if (from_directory.empty() || to_directory.empty()) return false;  // libfuse says ESTALE
    const auto is_below = [](std::string_view path, std::string_view directory,
                             const std::string& name) {
      return Below(Relative(path), Join(std::string(Relative(directory)), name)).has_value();
    };
    return is_below(to_directory, from_directory, rename.from) ||
           is_below(from_directory, to_directory, rename.to);
  }

  // "" if libfuse has none for it any more.
  std::string PathOfNode(uint64_t node) {
    struct {
      fuse_in_header header;
      fuse_access_in access;
    } request{};
    request.header.len = sizeof(request);
    request.header.opcode = FUSE_ACCESS;
    request.header.unique = kOwnRequest;
    request.header.nodeid = node;
    fuse_buf buffer{};
    buffer.mem = &request;
    buffer.size = sizeof(request);
    std::string path;
    tree_->asked_path = &path;
    asking = true;
    fuse_session_process_buf(session(), &buffer);
    asking = false;
    tree_->asked_path = nullptr;
    return path;
  }

  // A request that libfuse has not seen. If the kernel does not take it, the mount is gone.
  void Answer(uint64_t unique, int error, std::string_view content = {}) const {
    const size_t bytes = sizeof(fuse_out_header) + content.size();
    fuse_out_header header = {
        .len = static_cast<uint32_t>(bytes), .error = -error, .unique = unique};
    const iovec parts[] = {{&header, sizeof(header)},
                           {const_cast<char*>(content.data()), content.size()}};
    (void)!writev(fd(), parts, content.empty() ? 1 : 2);
  }

  FileLocks::Judge JudgeLock() const {
    return [tree = tree_](int fd) { return tree->EnterToLock(fd); };
  }

  FileLocks::Send SendLock() const {
    return [this](const FileLocks::Answer& answer) {
      // Without its pages: the kernel would wait for one that it has asked this thread for.
      if (answer.locked_node != 0) {
        fuse_lowlevel_notify_inval_inode(session(), answer.locked_node, -1, 0);
      }
      const auto* found = reinterpret_cast<const char*>(answer.found ? &*answer.found : nullptr);
      Answer(answer.unique, answer.error, {found, answer.found ? sizeof(fuse_lk_out) : 0});
    };
  }

  // A mount that ends while a request is being read says ECONNABORTED, and ENODEV from then on:
  // libfuse takes only the second for the end.
  static ssize_t Read(int fd, void* buffer, size_t size, void*) {
    const ssize_t bytes = read(fd, buffer, size);
    if (bytes < 0 && errno == ECONNABORTED) errno = ENODEV;
    return bytes;
  }

  static ssize_t Write(int fd, iovec* parts, int count, void*) {
    if (asking) return static_cast<ssize_t>(parts[0].iov_len);  // the kernel has not asked
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

// For poll(2): no end, unless a command waits for a lock.
int TimeToWaitMs(std::vector<Session>& sessions) {
  const bool waits = std::any_of(sessions.begin(), sessions.end(),
                                 [](Session& one) { return one.locks().HasWaiting(); });
  return waits ? FileLocks::kBetweenTriesMs : -1;
}

// Now and then, and when one was given back: of several trees of a cell any may have the file.
void RetryLocks(std::vector<Session>* sessions) {
  bool now = false;
  for (Session& session : *sessions) now |= session.locks().IsTimeToRetry();
  if (!now) return;
  for (Session& session : *sessions) session.RetryLocks();
}

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
    if (poll(polled.data(), polled.size(), TimeToWaitMs(sessions)) < 0 && errno != EINTR) {
      return ErrnoStatus(errno, "poll");
    }
    for (size_t i = 0; i < sessions.size(); ++i) {
      if (polled[i].revents == 0) continue;
      ODY_ASSIGN_OR_RETURN(const bool more, sessions[i].ServeOne(&buffer));
      if (more) continue;
      polled[i].fd = -1;  // poll looks at it no more
      --left;
    }
    RetryLocks(&sessions);
  }
  return OkStatus();
}

}  // namespace odyssey::cell_guard
