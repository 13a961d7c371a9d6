#ifndef ODYSSEY_TESTS_INTEGRATION_UNIX_LISTENER_H_
#define ODYSSEY_TESTS_INTEGRATION_UNIX_LISTENER_H_

// Unix sockets and named pipes of the host at which nobody of a cell may be heard, and every way to
// try.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <string>

#include "common/os/unique_fd.h"

namespace odyssey::testing {

// A socket of the host with a path, or with an abstract name if it begins with '@'.
class UnixListener final {
 public:
  UnixListener(const std::string& name, int type)
      : socket_(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    memcpy(address.sun_path, name.data(), name.size());
    if (name[0] == '@') address.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() +
                                             (name[0] == '@' ? 0 : 1));
    EXPECT_EQ(bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), size), 0)
        << name << strerror(errno);
    if (type != SOCK_DGRAM) Listen();
    if (name[0] != '@') path_ = name;
  }
  ~UnixListener() {
    if (!path_.empty()) std::filesystem::remove(path_);
  }
  // Gives the socket away, open to everybody: nothing but the view of the cell can protect it.
  void GiveTo(uid_t uid) const {
    std::filesystem::permissions(path_, std::filesystem::perms::all);
    EXPECT_EQ(chown(path_.c_str(), uid, uid), 0) << strerror(errno);
  }
  int fd() const { return socket_.get(); }

 private:
  void Listen() { EXPECT_EQ(listen(socket_.get(), 8), 0) << strerror(errno); }

  UniqueFd socket_;
  std::string path_;
};

// A named pipe with a reader of the host, open to everybody.
class PipeReader final {
 public:
  PipeReader(const std::string& path, uid_t owner) {
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0) << path;
    EXPECT_EQ(chmod(path.c_str(), 0666), 0);
    EXPECT_EQ(chown(path.c_str(), owner, owner), 0);
    fd_.reset(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  }
  int fd() const { return fd_.get(); }

 private:
  UniqueFd fd_;
};

// True if somebody connected or sent something.
inline bool Heard(int fd) {
  pollfd polled{fd, POLLIN, 0};
  return poll(&polled, 1, 0) > 0;
}

// Tries a Unix address in every way there is. `address` is Python: bytes or str.
inline std::string UnixAttempts(const std::string& name, const std::string& address) {
  return "target = " + address + "\nname = '" + name + "'\n" + R"(
for kind in [socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET]:
    attempt(f'{name} connect {kind}', lambda: socket.socket(socket.AF_UNIX, kind).connect(target))
for origin in ['socket', 'pair']:
    def end():
        if origin == 'socket':
            return socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        return socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0]
    attempt(f'{name} {origin} sendto', lambda: end().sendto(b'x', target))
    attempt(f'{name} {origin} sendmsg', lambda: end().sendmsg([b'x'], [], 0, target))
    raw = target if isinstance(target, bytes) else target.encode()
    raw = struct.pack('H', 1) + raw
    path = ctypes.create_string_buffer(raw, len(raw) + (raw[2:3] != b'\0'))
    byte = ctypes.create_string_buffer(b'x', 1)
    vector = (ctypes.c_uint64 * 2)(ctypes.addressof(byte), 1)
    message = (ctypes.c_uint64 * 8)(ctypes.addressof(path), len(path), ctypes.addressof(vector), 1)
    opened = end()
    attempt(f'{name} {origin} sendmmsg', lambda: call(307, opened.fileno(), message, 1, 0))
)";
}

// Python: tries to write to a pipe, in three ways.
inline std::string PipeAttempts(const std::string& name, const std::string& path) {
  std::string out;
  for (const std::string flags : {"os.O_WRONLY", "os.O_RDWR", "os.O_WRONLY | os.O_APPEND"}) {
    out += "attempt('" + name + " " + flags + "', lambda: os.write(os.open('" + path + "', " +
           flags + " | os.O_NONBLOCK), b'x'))\n";
  }
  return out;
}

}  // namespace odyssey::testing

#endif  // ODYSSEY_TESTS_INTEGRATION_UNIX_LISTENER_H_
