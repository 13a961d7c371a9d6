#ifndef ODYSSEY_SUPERVISOR_RPC_FOUND_REPOSITORIES_H_
#define ODYSSEY_SUPERVISOR_RPC_FOUND_REPOSITORIES_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "policy/compile/compile.h"
#include "policy/plan/cell_wire.h"

namespace odyssey::supervisor {

// Of one cell; what it says beyond them is left out. More than a search finds (64 repositories, 256
// covers of three kinds) but for read-only names, which cell-init says last.
inline constexpr uint32_t kMaxRepositories = 1024;
// Sockets come and go: the last are kept, more than cell-init covers at once (256).
inline constexpr size_t kMaxSaidSince = 512;

// What cell-init says of a repository becomes a line of the explanation, and what was found counts
// as guarded where refusals are explained. It is of a cell: what it says of places that it was not
// told to look at is left out, and so is a second time.
void ExplainRepository(const cell::Repository& repository, compile::Compiled* compiled);

// The same of a cell that is ready, of which `compiled` does not change any more: adds a socket
// that was covered since, or a tree in which something is not watched, once.
void NoteSince(const cell::Repository& repository, const compile::Compiled& compiled,
               std::vector<cell::Repository>* since);
// The explanation with a line for each of those.
std::vector<std::string> ExplanationWith(const std::vector<cell::Repository>& since,
                                         const compile::Compiled& compiled);
// What was noted of a cell. Guards itself, by a lock that is held for nothing else: a command's end
// asks for it with its session's lock held.
class SaidSince final {
 public:
  void Note(const cell::Repository& repository, const compile::Compiled& compiled) {
    const std::lock_guard lock(mutex_);
    NoteSince(repository, compiled, &said_);
  }
  std::vector<cell::Repository> all() const {
    const std::lock_guard lock(mutex_);
    return said_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<cell::Repository> said_;
};

// Where the sockets are.
std::vector<std::string> CoveredIn(const std::vector<cell::Repository>& since);

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_FOUND_REPOSITORIES_H_
