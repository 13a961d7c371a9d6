#ifndef ODYSSEY_COMMON_BASE_TIME_TEXT_H_
#define ODYSSEY_COMMON_BASE_TIME_TEXT_H_

#include <time.h>

#include <string>

namespace odyssey {

// RFC 3339, UTC, of seconds since 1970.
inline std::string Rfc3339(time_t at) {
  tm parts{};
  gmtime_r(&at, &parts);
  char text[32];
  strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

inline std::string Rfc3339Now() { return Rfc3339(time(nullptr)); }

}  // namespace odyssey

#endif  // ODYSSEY_COMMON_BASE_TIME_TEXT_H_
