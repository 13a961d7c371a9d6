#ifndef ODYSSEY_SUPERVISOR_CELL_INIT_OWN_PIPES_H_
#define ODYSSEY_SUPERVISOR_CELL_INIT_OWN_PIPES_H_

// Named pipes that commands make in the watched trees (ADR 0031). Nothing of a pipe says afterwards
// whose it is. So these are not made by the commands, but here, for a slot's pid 1 that hears of
// the call (pipe_calls.h); and every pipe that was not made here is the host's.

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "supervisor/cell_init/confinement.h"

namespace odyssey::cell_init {

// One message, with the directory (O_PATH) from which a relative path leads, and the end of a
// socket to which the answer is written: an int, 0 or the errno of mknodat(2). Closed without one:
// the kernel is to make it, because it is not in a watched tree or the path is out of the ordinary.
// A pipe that the kernel makes in a watched tree is taken for the host's; nothing is gained by it.
struct PipeRequest {
  uint32_t mode = 0;  // as the caller gave it
  uint32_t umask = 0;
  std::string path;  // not empty

  std::string Encode() const;
  static Result<PipeRequest> Decode(std::string_view bytes);
};

class OwnPipes final {
 public:
  // Without it there is nobody to ask: slot_end() is -1.
  Status Start();

  // For poll(2): readable when a slot asks; -1 before Start().
  int fd() const { return requests_.get(); }
  // Where slots ask, of which each inherits it.
  int slot_end() const { return slot_end_.get(); }

  // Answers one request, if it is of one of `trees`. The pipe is made by a process that has no more
  // rights than a command.
  void Serve(const Confinement& confinement, const std::vector<std::string>& trees);

  // Whether the pipe `place`, O_PATH, was made here.
  bool Has(int place) const;

 private:
  // What mknodat(2) answers.
  int Make(const Confinement& confinement, const PipeRequest& request, int directory);
  bool HasRoom();

  UniqueFd requests_, slot_end_;
  // Held open: nobody else's pipe gets the number of an inode while somebody holds it.
  std::map<std::pair<dev_t, ino_t>, UniqueFd> pipes_;
};

}  // namespace odyssey::cell_init

#endif  // ODYSSEY_SUPERVISOR_CELL_INIT_OWN_PIPES_H_
