#ifndef ODYSSEY_SUPERVISOR_CELL_INIT_REFUSED_NAMES_H_
#define ODYSSEY_SUPERVISOR_CELL_INIT_REFUSED_NAMES_H_

// The names that the cell's resolver refused, in memory that cell-init shares with the slots which
// it forks: cell-init writes a name before it answers, so a slot finds the name when its command
// ends. Commands have no part in it: they execute, or are killed.

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policy/plan/refused_call.h"

namespace odyssey::cell_init {

class RefusedNames final {
 public:
  // Without memory for it nothing is recorded.
  RefusedNames();

  // cell-init's alone. The oldest name makes room for a new one.
  void Add(std::string_view name);

  // Of the last name; 0: there is none.
  uint64_t last() const { return log_ == nullptr ? 0 : log_->last.load(); }
  // The names added, or added again, after that one.
  std::vector<std::string> After(uint64_t number) const;

 private:
  struct Entry {
    std::atomic<uint64_t> number;  // of the last time; 0: free
    char name[cell::kMaxDestinationBytes + 1];
  };
  struct Log {
    std::atomic<uint64_t> last;
    Entry entries[cell::kMaxRefusedNames];
  };

  Log* log_;  // for as long as the process
};

}  // namespace odyssey::cell_init

#endif  // ODYSSEY_SUPERVISOR_CELL_INIT_REFUSED_NAMES_H_
