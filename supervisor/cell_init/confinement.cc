#include "supervisor/cell_init/confinement.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cell_filters.h"
#include "policy/plan/landlock_rights.h"

namespace odyssey::cell_init {
namespace {

// landlock(7), of which Debian 12's headers know the first member only.
struct RulesetAttributes {
  uint64_t handled_access_fs;
  uint64_t handled_access_net;
  uint64_t scoped;
};

// Everything but these and execution changes something.
constexpr uint64_t kReadRights = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr uint64_t kDirectoryRights =
    LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
    LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
    LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
    LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER;

// Every right that this ABI knows is handled: what no rule grants is refused.
Result<UniqueFd> CreateRuleset(uint32_t abi, bool own_network) {
  const RulesetAttributes attributes = {.handled_access_fs = landlock::HandledFileRights(abi),
                                        .handled_access_net = 0,
                                        .scoped = landlock::HandledScopes(abi, own_network)};
  // Older kernels refuse a longer structure with something set in it, so only what they know.
  const size_t size =
      attributes.scoped != 0 ? sizeof(attributes) : sizeof(attributes.handled_access_fs);
  UniqueFd fd(static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, size, 0)));
  if (!fd) return ErrnoStatus(errno, "create Landlock ruleset");
  return fd;
}

uint64_t RightsOf(uint8_t rights, uint32_t abi) {
  uint64_t out = 0;
  if ((rights & cell::kRead) != 0) out |= kReadRights;
  if ((rights & cell::kWrite) != 0) out |= ~(kReadRights | LANDLOCK_ACCESS_FS_EXECUTE);
  if ((rights & cell::kExecute) != 0) out |= LANDLOCK_ACCESS_FS_EXECUTE;
  return out & landlock::HandledFileRights(abi);
}

Status AddRule(int ruleset, uint32_t abi, const cell::LandlockRule& rule) {
  UniqueFd fd(open(rule.path.c_str(), O_PATH | O_CLOEXEC));
  if (!fd && errno == ENOENT && (rule.rights & cell::kIfThere) != 0) return OkStatus();
  if (!fd) return ErrnoStatus(errno, "open " + rule.path);
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, "stat " + rule.path);
  landlock_path_beneath_attr attributes{};
  attributes.allowed_access = RightsOf(rule.rights, abi);
  if (!S_ISDIR(info.st_mode)) attributes.allowed_access &= ~kDirectoryRights;
  attributes.parent_fd = fd.get();
  const long added =
      syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &attributes, 0);
  return added == 0 ? OkStatus() : ErrnoStatus(errno, "add Landlock rule for " + rule.path);
}

// What seccomp(2) answers: 0, a listener if `flags` ask for one, or -1.
template <size_t kCount>
int LoadFilter(const sock_filter (&filter)[kCount], unsigned flags = 0) {
  static_assert(kCount <= BPF_MAXINSNS);
  const sock_fprog program{kCount, const_cast<sock_filter*>(filter)};
  return static_cast<int>(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program));
}

// A kernel whose notifications are longer than what this program was built for would write past
// them.
bool KnowsNotifications() {
  seccomp_notif_sizes sizes{};
  return syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) == 0 &&
         sizes.seccomp_notif <= sizeof(seccomp_notif) &&
         sizes.seccomp_notif_resp <= sizeof(seccomp_notif_resp);
}

// Caller and listener take turns, so that one processor serves both without waking another
// (Linux 6.6, which Debian 12's headers do not know). An older kernel answers more slowly.
void AnswerAtOnce(int listener) {
  constexpr uint64_t kSyncWakeUp = 1;  // SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
  (void)ioctl(listener, SECCOMP_IOW(4, uint64_t), kSyncWakeUp);  // SECCOMP_IOCTL_NOTIF_SET_FLAGS
}

}  // namespace

uint32_t LandlockAbi() {
  const long abi =
      syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return abi > 0 ? static_cast<uint32_t>(abi) : 0;
}

Result<Confinement> Confinement::Build(const cell::Configure& configure, uint32_t abi) {
  if (abi < configure.landlock_abi) {
    return FailedPrecondition("Landlock ABI " + std::to_string(abi) + ", " +
                              std::to_string(configure.landlock_abi) + " is needed");
  }
  Confinement confinement;
  confinement.tool_roots_ = configure.tool_roots;
  confinement.own_network_ = configure.own_network;
  confinement.max_sockets_ = configure.max_sockets;
  confinement.denies_write_exec_ = configure.denies_write_exec;
  confinement.build_ = configure.build;
  if (abi == 0) return confinement;
  confinement.abi_ = abi;
  ODY_ASSIGN_OR_RETURN(confinement.ruleset_, CreateRuleset(abi, configure.own_network));
  ODY_RETURN_IF_ERROR(confinement.AddRules(configure.rules));
  return confinement;
}

Status Confinement::AddRules(const std::vector<cell::LandlockRule>& rules) {
  if (!ruleset_) return OkStatus();
  for (const cell::LandlockRule& rule : rules) {
    ODY_RETURN_IF_ERROR(AddRule(ruleset_.get(), abi_, rule));
  }
  return OkStatus();
}

Status Confinement::DropCapabilities(uint32_t commands, uint32_t own) {
  for (int capability = 0;; ++capability) {
    const int present = prctl(PR_CAPBSET_READ, capability, 0, 0, 0);
    if (present < 0) break;  // past the kernel's last one
    const bool kept = capability < 32 && (commands >> capability & 1) != 0;
    if (present == 1 && !kept && prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) {
      return ErrnoStatus(errno, "drop capability from the bounding set");
    }
  }
  // The ambient set goes with them: it holds only what is permitted and inheritable.
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2]{{.effective = own, .permitted = own, .inheritable = 0}};
  if (syscall(SYS_capset, &header, sets) != 0) return ErrnoStatus(errno, "drop capabilities");
  return OkStatus();
}

Status Confinement::EnterLandlock() const {
  if (!ruleset_) return OkStatus();
  const bool entered = syscall(SYS_landlock_restrict_self, ruleset_.get(), 0) == 0;
  return entered ? OkStatus() : ErrnoStatus(errno, "enter Landlock");
}

void Confinement::DenyWriteExec() const {
  constexpr int kSetMdwe = 65;                // PR_SET_MDWE
  constexpr unsigned long kRefuseGain = 1UL;  // PR_MDWE_REFUSE_EXEC_GAIN
  if (denies_write_exec_) (void)prctl(kSetMdwe, kRefuseGain, 0UL, 0UL, 0UL);
}

Status EnterCommandFilter() {
  return LoadFilter(kCommandFilter) == 0 ? OkStatus() : ErrnoStatus(errno, "load seccomp filter");
}

Result<UniqueFd> EnterNotifyingFilter(bool of_connects, bool build) {
  if (KnowsNotifications()) {
    // Once a call is notified, no signal but a deadly one takes its caller away from the answer.
    constexpr unsigned kFlags =
        SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    UniqueFd listener(build         ? LoadFilter(kBuildFilter, kFlags)
                      : of_connects ? LoadFilter(kNotifyingOfConnectsFilter, kFlags)
                                    : LoadFilter(kNotifyingFilter, kFlags));
    if (listener) {
      AnswerAtOnce(listener.get());
      return listener;
    }
  }
  ODY_RETURN_IF_ERROR(EnterCommandFilter());
  return UniqueFd();
}

Status EnterInitFilter() {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return ErrnoStatus(errno, "set no_new_privs");
  return LoadFilter(kInitFilter) == 0 ? OkStatus() : ErrnoStatus(errno, "load seccomp filter");
}

}  // namespace odyssey::cell_init
