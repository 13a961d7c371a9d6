#ifndef ODYSSEY_COMMON_BASE_VERSION_H_
#define ODYSSEY_COMMON_BASE_VERSION_H_

namespace odyssey {

// The release; every program of one build answers the same.
inline constexpr char kVersion[] = "0.1.0";

}  // namespace odyssey

#endif  // ODYSSEY_COMMON_BASE_VERSION_H_
