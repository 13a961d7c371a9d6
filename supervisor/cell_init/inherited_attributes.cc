#include "supervisor/cell_init/inherited_attributes.h"

#include <errno.h>
#include <sched.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "common/os/file.h"

namespace odyssey::cell_init {
namespace {

// Of ioprio_set(2); the kernel's own header of them is not C++ everywhere.
constexpr int kIoprioWhoProcess = 1;
constexpr int kIoprioClassShift = 13;
constexpr int kIoprioIdle = 3;
constexpr size_t kMaxPattern = 4096;
constexpr unsigned long kTimerSlackNanoseconds = 50'000;  // the kernel's own

// sched_setattr(2), as the kernel knew it last. An older one fills less of it.
struct SchedulingAttributes {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
  uint32_t utilisation_min, utilisation_max;
};

Status LowerLimit(int resource) {
  const rlimit none{0, 0};
  if (setrlimit(static_cast<__rlimit_resource>(resource), &none) == 0) return OkStatus();
  return ErrnoStatus(errno, "give up a resource limit");
}

}  // namespace

Status ResetScheduling() {
  const int policy = sched_getscheduler(0);
  const sched_param ordinary{};
  if (policy != SCHED_BATCH && policy != SCHED_IDLE &&
      sched_setscheduler(0, SCHED_OTHER, &ordinary) != 0) {
    return ErrnoStatus(errno, "give up real time");
  }
  if (getpriority(PRIO_PROCESS, 0) < 0 && setpriority(PRIO_PROCESS, 0, 0) != 0) {
    return ErrnoStatus(errno, "give up the priority");
  }
  const long io = syscall(SYS_ioprio_get, kIoprioWhoProcess, 0);
  if (io >> kIoprioClassShift != kIoprioIdle &&
      syscall(SYS_ioprio_set, kIoprioWhoProcess, 0, 0) != 0 && errno != ENOSYS) {
    return ErrnoStatus(errno, "give up the priority for disks");
  }
  ODY_RETURN_IF_ERROR(LowerLimit(RLIMIT_RTPRIO));
  return LowerLimit(RLIMIT_NICE);
}

Status ResetPersonality() {
  if (personality(PER_LINUX) < 0) return ErrnoStatus(errno, "give up the personality");
  if (prctl(PR_SET_TIMERSLACK, kTimerSlackNanoseconds, 0, 0, 0) == 0) return OkStatus();
  return ErrnoStatus(errno, "give up the timer slack");
}

bool HandlesCrashes(std::string_view core_pattern) {
  return !core_pattern.empty() && (core_pattern[0] == '|' || core_pattern[0] == '@');
}

Status LimitCores() {
  const auto pattern = ReadFile("/proc/sys/kernel/core_pattern", kMaxPattern);
  if (!pattern.ok() || HandlesCrashes(*pattern)) return OkStatus();  // it is 1, as root set it
  return LowerLimit(RLIMIT_CORE);
}

}  // namespace odyssey::cell_init
