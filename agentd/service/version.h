#ifndef ODYSSEY_AGENTD_SERVICE_VERSION_H_
#define ODYSSEY_AGENTD_SERVICE_VERSION_H_

namespace odyssey::service {

// The project's version, from CMake.
inline constexpr char kVersion[] = ODYSSEY_VERSION;

}  // namespace odyssey::service

#endif  // ODYSSEY_AGENTD_SERVICE_VERSION_H_
