// odyssey-cell-layer: pid 1, and the only process, of a layer cell. Started by bubblewrap, as root
// of the cell's user namespace, with the supervisor's socket as fd 3.

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>

#include "common/os/message_socket.h"
#include "common/os/unique_fd.h"
#include "supervisor/cell_init/confinement.h"
#include "supervisor/cell_layer/confine.h"
#include "supervisor/cell_layer/serve.h"

namespace {

using odyssey::Status;

constexpr int kSocketFd = 3;

Status Run() {
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  // A pipe that nothing reads any more is an error of a write.
  signal(SIGPIPE, SIG_IGN);
  syscall(SYS_close_range, kSocketFd + 1, ~0U, 0);
  ODY_RETURN_IF_ERROR(odyssey::cell_init::EnterInitFilter());
  ODY_ASSIGN_OR_RETURN(odyssey::Message message, odyssey::ReceiveMessage(kSocketFd));
  odyssey::layer::Order order;
  ODY_RETURN_IF_ERROR(odyssey::layer::Decode(message.bytes, &order));
  if (message.fds.size() != 1) return odyssey::InvalidArgument("expected one pipe");
  const char* const path = odyssey::cell_layer::PathOf(order.op);
  const odyssey::UniqueFd directory(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return odyssey::ErrnoStatus(errno, std::string("open ") + path);
  ODY_RETURN_IF_ERROR(odyssey::cell_layer::Confine(order.op));
  umask(0);  // a layer's modes are its own
  const odyssey::layer::Done done =
      odyssey::cell_layer::Do(order, {directory.get(), message.fds[0].get()});
  message.fds.clear();
  ODY_RETURN_IF_ERROR(odyssey::SendMessage(kSocketFd, odyssey::layer::Encode(done)));
  // The cell's tree is in use until the supervisor has decided what becomes of it.
  return odyssey::ReceiveMessage(kSocketFd).status();
}

}  // namespace

int main() {
  const Status status = Run();
  if (status.ok() || status.code() == odyssey::Code::kUnavailable) return 0;
  dprintf(2, "cell-layer: %s\n", status.message().c_str());
  return 1;
}
