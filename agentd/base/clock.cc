#include "agentd/base/clock.h"

#include <cstdio>
#include <ctime>

namespace odyssey::agent {

std::chrono::system_clock::time_point SystemClock::Now() const {
  return std::chrono::system_clock::now();
}

int64_t UnixMillis(std::chrono::system_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

std::string FormatTime(std::chrono::system_clock::time_point time) {
  const int64_t total = UnixMillis(time);
  const int64_t millis = ((total % 1000) + 1000) % 1000;
  const time_t seconds = static_cast<time_t>((total - millis) / 1000);
  struct tm parts {};
  gmtime_r(&seconds, &parts);
  char date[32];
  const size_t length = strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &parts);
  char suffix[8];
  std::snprintf(suffix, sizeof(suffix), ".%03uZ", static_cast<unsigned>(millis) % 1000);
  return std::string(date, length) + suffix;
}

}  // namespace odyssey::agent
