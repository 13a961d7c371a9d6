#ifndef ODYSSEY_CTL_BASE_EXIT_CODE_H_
#define ODYSSEY_CTL_BASE_EXIT_CODE_H_

// Every exit code of odyssey-ctl.

namespace odyssey::ctl {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;

// policy check.
inline constexpr int kExitPolicyDeny = 3;
inline constexpr int kExitPolicyAsk = 4;

// exec and session exec, beside the command's own.
inline constexpr int kExitTimedOut = 124;
inline constexpr int kExitCannot = 125;  // Odyssey could not do it
inline constexpr int kExitDenied = 126;
inline constexpr int kExitNotFound = 127;
inline constexpr int kExitSignalBase = 128;
inline constexpr int kExitOutOfMemory = 137;  // 128 + SIGKILL

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_BASE_EXIT_CODE_H_
