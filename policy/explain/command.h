#ifndef ODYSSEY_POLICY_EXPLAIN_COMMAND_H_
#define ODYSSEY_POLICY_EXPLAIN_COMMAND_H_

// A command whose words are judged, and where the relative names in them begin. Pure.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "policy/explain/complaint.h"

namespace odyssey::explain {

struct Command {
  std::vector<std::string> argv;
  std::string cwd;  // where it starts
  // The host's file that a program's name stands for, as a shell would find it; "" if the host has
  // none. Missing: nothing is known of the host.
  std::function<std::string(const std::string& name)> find_program;
};

// What a command's arguments tell of the directory that it is in.
class Whereabouts final {
 public:
  explicit Whereabouts(const Command& command);

  // Where the relative names of this complaint begin, not normalised; nullopt if that cannot be
  // known: the arguments change it in a way that is not followed here, or somebody complains whom
  // they do not name, who may have been anywhere.
  std::optional<std::string> DirectoryOf(const Complaint& complaint) const;

 private:
  bool Knows(const Complaint& complaint) const;

  std::optional<std::string> directory_;
  std::string program_;  // of the command itself, without its directory
  std::string text_;     // all arguments
  bool shell_ = false;
  bool has_script_ = false;  // what to do is in the arguments, as text
};

}  // namespace odyssey::explain

#endif  // ODYSSEY_POLICY_EXPLAIN_COMMAND_H_
