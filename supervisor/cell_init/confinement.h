#ifndef ODYSSEY_SUPERVISOR_CELL_INIT_CONFINEMENT_H_
#define ODYSSEY_SUPERVISOR_CELL_INIT_CONFINEMENT_H_

// What every process that cell-init starts is put under before it may do anything. Runs inside the
// cell as its user; each step can only take rights away.

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "supervisor/wire/cell_wire.h"

namespace odyssey::cell_init {

// The kernel's Landlock ABI; 0 if it has none.
uint32_t LandlockAbi();

class Confinement final {
 public:
  // Builds the Landlock ruleset once; every process restricts itself by its descriptor. `abi` is
  // the kernel's, or an older one that it also understands. FAILED_PRECONDITION: it is older than
  // `configure` needs. NOT_FOUND: a rule's path is not in the cell.
  static Result<Confinement> Build(const cell::Configure& configure, uint32_t abi = LandlockAbi());

  // The rules again, for what has been mounted on their paths since Build; for later Enter calls.
  Status AddRules(const std::vector<cell::LandlockRule>& rules);

  // Empties every capability set, the bounding set included. The caller has CAP_SETPCAP in the
  // cell's user namespace, or nothing to lose. Masks of what is left, of capabilities below 32: in
  // the bounding set, for what root executes, and to the caller.
  static Status DropCapabilities(uint32_t commands = 0, uint32_t own = 0);

  // Landlock for good; nothing where `configure` lets the cell run without.
  Status EnterLandlock() const;

  // For good, and for what the caller becomes: memory that was written is not executed, if
  // `configure` says so and the kernel has it (Linux 6.3).
  void DenyWriteExec() const;

  const std::vector<cell::ToolRoot>& tool_roots() const { return tool_roots_; }
  bool own_network() const { return own_network_; }
  bool build() const { return build_; }
  uint32_t max_sockets() const { return max_sockets_; }

 private:
  UniqueFd ruleset_;
  uint32_t abi_ = 0;  // of the ruleset
  std::vector<cell::ToolRoot> tool_roots_;
  bool own_network_ = true;
  bool build_ = false;
  uint32_t max_sockets_ = 0;
  bool denies_write_exec_ = false;
};

// The seccomp filters, built into this program: that of the file worker and the guards, and that of
// cell-init itself, which must still mount and nest. For good; the last step, since they refuse
// what the steps before need. EnterInitFilter also sets no_new_privs, once for all.
Status EnterCommandFilter();
Status EnterInitFilter();

// The filter of a slot: that of EnterCommandFilter, but a refused call waits for an answer on the
// descriptor that comes back (close-on-exec), in this process too; with `of_connects` connect(2)
// and sendto(2) with an address do as well; with `build` also that, and set-id modes are allowed.
// Without a descriptor the filter answers by itself: the kernel has no user notification, or a
// filter outside of the cell has the listener already.
Result<UniqueFd> EnterNotifyingFilter(bool of_connects = false, bool build = false);

}  // namespace odyssey::cell_init

#endif  // ODYSSEY_SUPERVISOR_CELL_INIT_CONFINEMENT_H_
