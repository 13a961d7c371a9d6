#ifndef ODYSSEY_TESTS_INTEGRATION_THROWAWAY_HOST_H_
#define ODYSSEY_TESTS_INTEGRATION_THROWAWAY_HOST_H_

// A host to be ruined: namespaces of its own, and this machine's files under a layer in memory, so
// that root may do there what it likes. Its network leads nowhere, but every address is its own.

#include <functional>
#include <string>

namespace odyssey::testing {

// Runs `body` as root there, in a process whose pid 1 is ours; what it writes to fd 1 is the
// result. Fails the test if the host cannot be made, or `body` does not return. Needs root.
std::string InThrowawayHost(const std::function<void()>& body);

}  // namespace odyssey::testing

#endif  // ODYSSEY_TESTS_INTEGRATION_THROWAWAY_HOST_H_
