#include "common/os/notify_socket.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include <utility>

#include "common/os/environment.h"
#include "common/os/unique_fd.h"

namespace odyssey {

NotifySocket::NotifySocket(std::string socket, uint64_t watchdog_usec)
    : socket_(std::move(socket)), watchdog_(watchdog_usec) {}

NotifySocket NotifySocket::FromEnvironment() {
  std::string socket = TakeVariable("NOTIFY_SOCKET");
  const std::string usec = TakeVariable("WATCHDOG_USEC");
  TakeVariable("WATCHDOG_PID");
  return {std::move(socket), strtoull(usec.c_str(), nullptr, 10)};
}

void NotifySocket::Reloading() const {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const uint64_t usec =
      static_cast<uint64_t>(now.tv_sec) * 1'000'000 + static_cast<uint64_t>(now.tv_nsec) / 1000;
  Send("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(usec));
}

void NotifySocket::Send(const std::string& text) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_.empty() || socket_.size() >= sizeof(address.sun_path)) return;
  memcpy(address.sun_path, socket_.data(), socket_.size());
  if (socket_[0] == '@') address.sun_path[0] = '\0';
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  const UniqueFd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd) return;
  (void)sendto(fd.get(), text.data(), text.size(), MSG_NOSIGNAL,
               reinterpret_cast<const sockaddr*>(&address), length);
}

}  // namespace odyssey
