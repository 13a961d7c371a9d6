#ifndef ODYSSEY_SUPERVISOR_RPC_LINKED_CONFIGURATION_H_
#define ODYSSEY_SUPERVISOR_RPC_LINKED_CONFIGURATION_H_

// What cells are shown of /etc (policy/executables/configuration.h), kept between requests: finding
// it reads all of /usr.

#include <time.h>

#include <future>
#include <mutex>
#include <vector>

#include "policy/compile/compile.h"

namespace odyssey::supervisor {

class LinkedConfiguration final {
 public:
  // Begins to look, in a thread of its own.
  LinkedConfiguration();

  // Waits for the first look. Looks again when names in /etc were added or removed since, as a
  // package's installation does, and leaves out what is not there any more. Thread-safe.
  std::vector<compile::SystemEntry> Get();

 private:
  struct Found {
    timespec etc_changed;
    std::vector<compile::SystemEntry> entries;
  };
  static Found Look();

  std::mutex mutex_;
  std::future<Found> first_;
  Found found_;
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_LINKED_CONFIGURATION_H_
