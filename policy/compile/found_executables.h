#ifndef ODYSSEY_POLICY_COMPILE_FOUND_EXECUTABLES_H_
#define ODYSSEY_POLICY_COMPILE_FOUND_EXECUTABLES_H_

// What the named executables of explicit mode are, on this host or in an image: found by
// policy/executables, given to the compiler as a value.

#include <string>
#include <string_view>
#include <vector>

#include "policy/model/request.h"

namespace odyssey::compile {

// A file or directory of the system's trees, canonical: the same path there and in the cell.
struct Executable {
  std::string path;
  bool run = false;  // may be executed; without it only loaded, as a library is
  std::string why;   // for the explanation
  friend bool operator==(const Executable&, const Executable&) = default;
};

struct FoundExecutables {
  std::vector<Executable> files;   // by path, each once
  std::vector<std::string> notes;  // what was looked for and is missing, a line each
  // What compiles while it runs, or may: memory that it wrote has to be executable.
  std::vector<std::string> compilers;
  std::string identity;  // another one if a file was replaced since
  friend bool operator==(const FoundExecutables&, const FoundExecutables&) = default;
};

// The host's programs, or an image's: /usr, /opt and their like. What lies elsewhere comes into a
// cell by a mount.
bool IsInSystemTree(std::string_view path);

// The entries of `executables` that name something of the system's trees, by name or by path.
std::vector<std::string> SystemExecutables(const policy::SandboxRequest& request);

}  // namespace odyssey::compile

#endif  // ODYSSEY_POLICY_COMPILE_FOUND_EXECUTABLES_H_
