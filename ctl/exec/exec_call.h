#ifndef ODYSSEY_CTL_EXEC_EXEC_CALL_H_
#define ODYSSEY_CTL_EXEC_EXEC_CALL_H_

// What `exec` and `session exec` share: the terminal and the signals around one ExecPump.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/os/unique_fd.h"
#include "common/rpc/stub.h"
#include "ctl/base/console.h"
#include "ctl/client/client.h"
#include "ctl/exec/exec_pump.h"
#include "ctl/view/denial_line.h"
#include "policy/dialect/origin.h"

namespace odyssey::ctl {

// `--tty` copies the terminal that stdin is: without one the command's input would never end.
Status CheckTerminal(const Console& console, bool terminal);

// Reports on stderr that no command began, with `-o json` as its outcome too, and returns the exit
// code.
int CannotExec(const Console& console, const Failure& failure);

class ExecCall final {
 public:
  // Takes over the signals. Caller must be single-threaded.
  ExecCall(bool terminal, ShowDenials denials);

  // How a denial's grant is said; without it as the supervisor does.
  void SetGrantWords(std::function<std::string(const supervisor::v1::Denial&)> words) {
    words_ = std::move(words);
  }

  // Says nothing of processes that the command left running.
  void HideEndedProcesses() { tells_ended_ = false; }

  // Of a call before or after the command, which a signal cancels. 0: without a deadline.
  rpc::CallOptions Interruptible(int deadline_ms = 0) const;
  // A signal that came and went to no command, 0 if none did.
  int interrupted_by() const;

  // Makes the stream, runs the command of `start` over stdin, stdout and stderr, reports what is to
  // be said on stderr: lines for people, or with `-o json` one object, {"outcome", "denials"}.
  // `origins` know where what is refused of `start` was given. Returns the exit code.
  int Run(const Console& console, supervisor::v1::ExecStart start, const Client& client,
          const dialect::Origins& origins, const std::function<ExecStream()>& make_stream);

 private:
  const bool terminal_;
  const ShowDenials denials_;
  bool tells_ended_ = true;
  std::function<std::string(const supervisor::v1::Denial&)> words_;
  const UniqueFd ending_;   // the signals that end a call
  const UniqueFd signals_;  // those of a command: SIGWINCH too, if it has a terminal
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_EXEC_EXEC_CALL_H_
