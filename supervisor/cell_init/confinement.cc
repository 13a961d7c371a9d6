#include "supervisor/cell_init/confinement.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cell_filters.h"
#include "policy/plan/plan.h"

namespace odyssey::cell_init {
namespace {

// Newer than Debian 12's headers: landlock(7).
constexpr uint64_t kAccessTruncate = 1ULL << 14;      // ABI 3
constexpr uint64_t kAccessIoctlDevice = 1ULL << 15;   // ABI 5
constexpr uint64_t kScopeAbstractSocket = 1ULL << 0;  // ABI 6
constexpr uint64_t kScopeSignal = 1ULL << 1;          // ABI 6
struct RulesetAttributes {
  uint64_t handled_access_fs;
  uint64_t handled_access_net;
  uint64_t scoped;
};

constexpr uint64_t kReadRights = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr uint64_t kFileWriteRights =
    LANDLOCK_ACCESS_FS_WRITE_FILE | kAccessTruncate | kAccessIoctlDevice;
constexpr uint64_t kWriteRights =
    kFileWriteRights | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
    LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
    LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
    LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER;
// What makes sense on a file that is no directory.
constexpr uint64_t kFileRights =
    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE | kFileWriteRights;

// Every right that this ABI knows is handled: what no rule grants is refused.
uint64_t HandledRights(uint32_t abi) {
  uint64_t rights = kReadRights | kWriteRights | LANDLOCK_ACCESS_FS_EXECUTE;
  if (abi < 2) rights &= ~static_cast<uint64_t>(LANDLOCK_ACCESS_FS_REFER);
  if (abi < 3) rights &= ~kAccessTruncate;
  if (abi < 5) rights &= ~kAccessIoctlDevice;
  return rights;
}

Result<UniqueFd> CreateRuleset(uint32_t abi) {
  RulesetAttributes attributes{};
  attributes.handled_access_fs = HandledRights(abi);
  if (abi >= 6) attributes.scoped = kScopeAbstractSocket | kScopeSignal;
  // Older kernels refuse a longer structure with something set in it, so only what they know.
  const size_t size = abi >= 6 ? sizeof(attributes) : sizeof(attributes.handled_access_fs);
  UniqueFd fd(static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, size, 0)));
  if (!fd) return ErrnoStatus(errno, "create Landlock ruleset");
  return fd;
}

uint64_t RightsOf(uint8_t rights) {
  uint64_t out = 0;
  if ((rights & cell::kRead) != 0) out |= kReadRights;
  if ((rights & cell::kWrite) != 0) out |= kWriteRights;
  if ((rights & cell::kExecute) != 0) out |= LANDLOCK_ACCESS_FS_EXECUTE;
  return out;
}

Status AddRule(int ruleset, uint32_t abi, const cell::LandlockRule& rule) {
  UniqueFd fd(open(rule.path.c_str(), O_PATH | O_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, "open " + rule.path);
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, "stat " + rule.path);
  landlock_path_beneath_attr attributes{};
  attributes.allowed_access = RightsOf(rule.rights) & HandledRights(abi);
  if (!S_ISDIR(info.st_mode)) attributes.allowed_access &= kFileRights;
  attributes.parent_fd = fd.get();
  if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &attributes, 0) != 0) {
    return ErrnoStatus(errno, "add Landlock rule for " + rule.path);
  }
  return OkStatus();
}

Status LoadFilter(const sock_filter* filter, size_t count) {
  sock_fprog program{};
  program.len = static_cast<unsigned short>(count);
  program.filter = const_cast<sock_filter*>(filter);
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) {
    return ErrnoStatus(errno, "load seccomp filter");
  }
  return OkStatus();
}

}  // namespace

uint32_t LandlockAbi() {
  const long abi =
      syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return abi > 0 ? static_cast<uint32_t>(abi) : 0;
}

Result<Confinement> Confinement::Build(const cell::Configure& configure) {
  const uint32_t abi = LandlockAbi();
  if (abi == 0) return FailedPrecondition("the kernel has no Landlock");
  Confinement confinement;
  ODY_ASSIGN_OR_RETURN(confinement.ruleset_, CreateRuleset(abi));
  for (const cell::LandlockRule& rule : configure.rules) {
    ODY_RETURN_IF_ERROR(AddRule(confinement.ruleset_.get(), abi, rule));
  }
  confinement.tool_roots_ = configure.tool_roots;
  return confinement;
}

Status Confinement::DropCapabilities() {
  for (int capability = 0;; ++capability) {
    const int present = prctl(PR_CAPBSET_READ, capability, 0, 0, 0);
    if (present < 0) break;  // past the kernel's last one
    if (present == 1 && prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) {
      return ErrnoStatus(errno, "drop capability from the bounding set");
    }
  }
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) {
    return ErrnoStatus(errno, "clear ambient capabilities");
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2]{};
  if (syscall(SYS_capset, &header, none) != 0) return ErrnoStatus(errno, "drop capabilities");
  return OkStatus();
}

Status Confinement::EnterLandlock() const {
  if (syscall(SYS_landlock_restrict_self, ruleset_.get(), 0) != 0) {
    return ErrnoStatus(errno, "enter Landlock");
  }
  return OkStatus();
}

Status EnterCommandFilter() { return LoadFilter(kCommandFilter, std::size(kCommandFilter)); }

Status EnterInitFilter() {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return ErrnoStatus(errno, "set no_new_privs");
  return LoadFilter(kInitFilter, std::size(kInitFilter));
}

}  // namespace odyssey::cell_init
