#include "common/os/message_socket.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

namespace odyssey {

Result<std::pair<UniqueFd, UniqueFd>> MessageSocketPair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return ErrnoStatus(errno, "create socket pair");
  }
  return std::make_pair(UniqueFd(ends[0]), UniqueFd(ends[1]));
}

Status SendMessage(int socket, std::string_view bytes, const std::vector<int>& fds, int flags) {
  ODY_CHECK(fds.size() <= kMaxMessageFds);
  iovec iov{const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxMessageFds)] = {};
  msghdr header{.msg_iov = &iov, .msg_iovlen = 1};
  if (!fds.empty()) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
    cmsghdr* cmsg = CMSG_FIRSTHDR(&header);
    cmsg->cmsg_level = SOL_SOCKET;
    cmsg->cmsg_type = SCM_RIGHTS;
    cmsg->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
    memcpy(CMSG_DATA(cmsg), fds.data(), sizeof(int) * fds.size());
  }
  const ssize_t n = TEMP_FAILURE_RETRY(sendmsg(socket, &header, MSG_NOSIGNAL | flags));
  return n < 0 ? ErrnoStatus(errno, "send message") : OkStatus();
}

Result<Message> ReceiveMessage(int socket, int flags) {
  // Its length first: a process that waits for a message must not hold the largest one's memory.
  const ssize_t length = TEMP_FAILURE_RETRY(recv(socket, nullptr, 0, MSG_PEEK | MSG_TRUNC | flags));
  if (length < 0) return ErrnoStatus(errno, "receive message");

  Message message;
  message.bytes.resize(std::min(static_cast<size_t>(length), kMaxMessageBytes));
  iovec iov{message.bytes.data(), message.bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxMessageFds)];
  msghdr header{
      .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
  const ssize_t n = TEMP_FAILURE_RETRY(recvmsg(socket, &header, MSG_CMSG_CLOEXEC | flags));
  if (n < 0) return ErrnoStatus(errno, "receive message");

  // Take the descriptors first, so that no error path leaks one.
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
      message.fds.emplace_back(fd);
    }
  }
  if ((header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    return InvalidArgument("receive message: truncated, more than " +
                           std::to_string(kMaxMessageBytes) + " bytes or " +
                           std::to_string(kMaxMessageFds) + " descriptors");
  }
  if (n == 0) return Unavailable("receive message: peer closed");
  message.bytes.resize(static_cast<size_t>(n));
  return message;
}

}  // namespace odyssey
