#ifndef ODYSSEY_SUPERVISOR_RPC_FOUND_REPOSITORIES_H_
#define ODYSSEY_SUPERVISOR_RPC_FOUND_REPOSITORIES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "policy/compile/compile.h"
#include "policy/plan/cell_wire.h"

namespace odyssey::supervisor {

// Of one cell; what it says beyond them is left out. More than a search finds (64 repositories, 256
// covers of three kinds) but for read-only names, which cell-init says last.
inline constexpr uint32_t kMaxRepositories = 1024;
// More than cell-init covers once the cell is ready (256).
inline constexpr size_t kMaxCoveredSince = 512;

// What cell-init says of a repository becomes a line of the explanation, and what was found counts
// as guarded where refusals are explained. It is of a cell: what it says of places that it was not
// told to look at is left out, and so is a second time.
void ExplainRepository(const cell::Repository& repository, compile::Compiled* compiled);

// The same of a cell that is ready, of which `compiled` does not change any more: adds the place of
// a socket that was covered since, once.
void NoteCovered(const cell::Repository& repository, const compile::Compiled& compiled,
                 std::vector<std::string>* since);
// The explanation with a line for each of those.
std::vector<std::string> ExplanationWith(const std::vector<std::string>& since,
                                         const compile::Compiled& compiled);

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_FOUND_REPOSITORIES_H_
