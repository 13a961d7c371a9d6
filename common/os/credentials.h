#ifndef ODYSSEY_COMMON_OS_CREDENTIALS_H_
#define ODYSSEY_COMMON_OS_CREDENTIALS_H_

#include <sys/types.h>

#include "common/base/status.h"

namespace odyssey {

// Makes a forked child of root's `uid` and its group alone, for good, with a session keyring of its
// own (the caller's may hold keys) and without core dumps, and lets it die with `parent`.
// UNAVAILABLE if that has died already.
Status BecomeUser(uid_t uid, pid_t parent);

}  // namespace odyssey

#endif  // ODYSSEY_COMMON_OS_CREDENTIALS_H_
