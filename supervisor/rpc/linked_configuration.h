#ifndef ODYSSEY_SUPERVISOR_RPC_LINKED_CONFIGURATION_H_
#define ODYSSEY_SUPERVISOR_RPC_LINKED_CONFIGURATION_H_

// What cells are shown of /etc (policy/executables/configuration.h), kept between requests: to find
// it, all of /usr is read and some hundred entries are looked at.

#include <time.h>

#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "policy/compile/compile.h"
#include "policy/model/request.h"

namespace odyssey::supervisor {

class LinkedConfiguration final {
 public:
  struct Shown {
    std::vector<compile::SystemEntry> entries;  // that are there, sorted by path
    std::vector<policy::FileIdentity> files;    // of each entry
    friend bool operator==(const Shown&, const Shown&) = default;
  };

  // Begins to look, in a thread of its own. `root`: where /etc and /usr are.
  explicit LinkedConfiguration(std::string root = "");

  // Waits for the first look. Looks again when names in /etc were added or removed since, as a
  // package's installation does, and leaves out what is not there any more. The same pointer as
  // before: no entry was added, removed or replaced by another file. What is mounted on an entry is
  // not seen (MountTable). Thread-safe.
  std::shared_ptr<const Shown> Get();

 private:
  // A name in it that is added, removed or replaced sets its time.
  struct Directory {
    policy::FileIdentity file;
    timespec changed{};
  };
  struct Found {
    timespec etc_changed{};
    std::vector<compile::SystemEntry> entries;
    std::vector<std::string> directories;  // that entries are in, up to /etc, which is the first
  };
  static Found Look(const std::string& root);
  std::vector<Directory> LookAtDirectories() const;
  Shown LookAtEntries() const;

  const std::string root_;
  std::mutex mutex_;  // guards what follows
  std::future<Found> first_;
  Found found_;
  std::vector<Directory> directories_;  // before shown_ was looked at; empty: look again
  std::shared_ptr<const Shown> shown_;
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_LINKED_CONFIGURATION_H_
