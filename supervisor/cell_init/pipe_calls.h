#ifndef ODYSSEY_SUPERVISOR_CELL_INIT_PIPE_CALLS_H_
#define ODYSSEY_SUPERVISOR_CELL_INIT_PIPE_CALLS_H_

// The calls by which a command makes a named pipe, as a slot's pid 1 hears of them: cell-init may
// want to make it itself (own_pipes.h).

#include <optional>

struct seccomp_data;
struct seccomp_notif;

namespace odyssey::cell_init {

// Whether it is mknod(2) or mknodat(2) of a pipe, without bits that the filter refuses.
bool MakesPipe(const seccomp_data& call);

// Asks cell-init for the pipe of a caller that waits. What mknodat(2) answered, 0 or an errno; none
// if the kernel is to make it. `cell_init` is OwnPipes::slot_end(); `listener` knows whether the
// caller still is who was heard of. Blocks until cell-init has answered.
std::optional<int> AskForPipe(const seccomp_notif& call, int listener, int cell_init);

}  // namespace odyssey::cell_init

#endif  // ODYSSEY_SUPERVISOR_CELL_INIT_PIPE_CALLS_H_
