#ifndef ODYSSEY_SUPERVISOR_PROBE_ANSWERS_H_
#define ODYSSEY_SUPERVISOR_PROBE_ANSWERS_H_

// How what the kernel answered becomes a finding.

#include <errno.h>
#include <sys/types.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <vector>

#include "supervisor/probe/probe.h"

namespace odyssey::probe {

using Errnos = std::vector<int>;

// Exit status for another copy of this program that asks for its identity, or whether it ran.
inline constexpr int kOrdinary = 42;
inline constexpr int kPrivileged = 43;

// What a refusal says.
inline const Errnos kRefused = {EPERM, EACCES, EROFS};
// The same, or that there is no such thing here.
inline const Errnos kRefusedOrAbsent = {EPERM, EACCES, EROFS, ENOENT, ENOTDIR, ENXIO};

struct Answer {
  long result = 0;
  int error = 0;
};

// The raw system call.
template <typename... Words>
Answer Call(long number, Words... words) {
  errno = 0;
  const long result = syscall(number, words...);
  return {result, errno};
}

// Of a libc function that has just been called.
inline Answer Answered(long result) { return {result, errno}; }

std::string ErrnoText(int error);

// Contained if it failed with one of `refusals`. Not applicable if this kernel does not have the
// call. Everything else, another error too, says that it came through.
Finding MustBeRefused(Answer answer, const Errnos& refusals = kRefused);
// Opens and closes.
Finding MustNotOpen(const std::string& path, int flags, const Errnos& refusals = kRefused);

// "what: errno's text".
Finding BrokenAt(std::string_view what);
// Works, or broken at `what`.
Finding WorksIf(bool good, std::string_view what);

// The whole of a small file; "" if it cannot be read.
std::string Slurp(const std::string& path, size_t most = 1 << 16);
// Makes or replaces a file.
bool Spit(const std::string& path, std::string_view bytes, mode_t mode = 0600);
bool CopyFile(const std::string& from, const std::string& to);
// Names in a directory, without . and ..; false if it cannot be read.
bool ListDirectory(const std::string& path, std::vector<std::string>* names);
// Numbers among the names in /proc.
std::vector<pid_t> Processes();
// "Name:" of /proc/self/status.
std::string OwnStatus(std::string_view name);

struct Ended {
  bool started = false;  // false: error is execve's
  int error = 0;
  int status = 0;  // of wait(2)

  bool Exited(int code) const;
};

// fork, execve without an environment but PATH, wait. stdin, stdout and stderr are /dev/null.
Ended Execute(const std::vector<std::string>& argv);

// Whether what is there is of the image that is the cell's root, or written over it.
bool IsOfImage(const Targets& targets, const std::string& path);
inline constexpr char kOfImage[] = "it is the image's own";

}  // namespace odyssey::probe

#endif  // ODYSSEY_SUPERVISOR_PROBE_ANSWERS_H_
