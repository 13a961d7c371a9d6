#ifndef ODYSSEY_TESTS_FAKES_ACCEPT_ONE_H_
#define ODYSSEY_TESTS_FAKES_ACCEPT_ONE_H_

#include <poll.h>
#include <sys/socket.h>

#include "common/os/unique_fd.h"

namespace odyssey::fakes {

// The next connection of a socket by ListenUnix, which does not block: it may be here before its
// client is.
inline UniqueFd AcceptOne(int listener) {
  pollfd polled = {listener, POLLIN, 0};
  poll(&polled, 1, -1);
  return UniqueFd(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
}

}  // namespace odyssey::fakes

#endif  // ODYSSEY_TESTS_FAKES_ACCEPT_ONE_H_
