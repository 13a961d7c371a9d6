#ifndef ODYSSEY_SUPERVISOR_CELL_INIT_EXECUTE_H_
#define ODYSSEY_SUPERVISOR_CELL_INIT_EXECUTE_H_

// The last steps of a process that becomes a command, whatever confines it: forked child,
// single-threaded. A failure is said on `exec_socket`.

#include <string>
#include <vector>

#include "common/os/message_socket.h"
#include "supervisor/wire/cell_wire.h"

namespace odyssey::cell_init {

struct NextCommand {
  cell::ExecSpec spec;
  std::vector<UniqueFd> stdio;  // none with a terminal
};

// Waits for the ExecSpec; ends the process if none comes.
NextCommand AwaitCommand(int exec_socket);

// As execve(2) takes them; valid as long as `words`.
std::vector<char*> Pointers(std::vector<std::string>* words);

// Every descriptor but 0 to 2 is close-on-exec.
[[noreturn]] void Execute(NextCommand* command, int exec_socket);

// Says what failed, and ends the process.
[[noreturn]] void Fail(int exec_socket, const Status& status,
                       cell::ExecStep step = cell::ExecStep::kSetUp);

}  // namespace odyssey::cell_init

#endif  // ODYSSEY_SUPERVISOR_CELL_INIT_EXECUTE_H_
