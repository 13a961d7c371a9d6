#ifndef ODYSSEY_SUPERVISOR_PROBE_LINGER_H_
#define ODYSSEY_SUPERVISOR_PROBE_LINGER_H_

// What this program does instead of probing: being there for others to find, and misbehaving.

#include <string>
#include <vector>

namespace odyssey::probe {

// name=COMM [tcp=PORT] [abstract=NAME] [key=KEY]: has that name, listens there, holds a shared
// memory segment; says "ready" and stays until it is killed. Returns the exit code if it cannot.
int Linger(const std::vector<std::string>& words);
// Touches that many bytes of memory, and ends with 0 if it was let.
int EatMemory(const std::string& bytes);
// Ignores every signal that can be ignored, and stays.
int IgnoreSignals();
// Leaves a daemon of that name behind.
int LeaveDaemon(const std::string& name);
// kOrdinary or kPrivileged.
int PrintIdentity();

}  // namespace odyssey::probe

#endif  // ODYSSEY_SUPERVISOR_PROBE_LINGER_H_
