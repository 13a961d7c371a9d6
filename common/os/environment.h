#ifndef ODYSSEY_COMMON_OS_ENVIRONMENT_H_
#define ODYSSEY_COMMON_OS_ENVIRONMENT_H_

#include <stdlib.h>

#include <string>

namespace odyssey {

// The variable's value, "" if there is none. It is unset, so that no child process has it. Caller
// must be single-threaded.
inline std::string TakeVariable(const char* name) {
  const char* const value = getenv(name);
  std::string out = value == nullptr ? "" : value;
  unsetenv(name);
  return out;
}

}  // namespace odyssey

#endif  // ODYSSEY_COMMON_OS_ENVIRONMENT_H_
