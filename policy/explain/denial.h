#ifndef ODYSSEY_POLICY_EXPLAIN_DENIAL_H_
#define ODYSSEY_POLICY_EXPLAIN_DENIAL_H_

// What confinement refused, for people and for models: odyssey.supervisor.v1.Denial as a value.
// Pure.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/explain/explain.h"
#include "policy/plan/refused_call.h"

namespace odyssey::explain {

// What was done about it.
inline constexpr char kDeny[] = "deny";  // it did not happen
inline constexpr char kKill[] = "kill";  // the process was killed
inline constexpr char kCut[] = "cut";    // output beyond it was not delivered

inline constexpr size_t kMaxResource = 512;  // bytes kept

struct Denial {
  std::string kind, resource, access, rule;
  Grant grant;
  std::string process;
  uint64_t count = 1;  // how often, where that is counted
  std::string verdict = kDeny;
  bool hint = false;           // a guess from the command's stderr (hint.h); else it is certain
  std::string session_id;      // of the cell; the broker sets it
  bool repeats_error = false;  // `rule` is what the error says already
  friend bool operator==(const Denial&, const Denial&) = default;
};

// A command that was refused something.
struct Command {
  std::vector<std::string> argv;
  std::string cwd;  // where it starts
  // The host's file that a program's name stands for, as a shell would find it; "" if the host has
  // none. Missing: nothing is known of the host.
  std::function<std::string(const std::string& name)> find_program;
};

// "comm[pid]", as the command sees it; "" without a pid.
std::string ProcessText(std::string_view comm, uint32_t pid);

// One thing that was refused in one way by one rule, whichever process tried it.
bool IsSameThing(const Denial& a, const Denial& b);

// "write /usr/x (mount /usr read_only)", and if there is a grant "; to allow: …". Text of a command
// is in it: to be sanitised where it is shown.
std::string DescribeDenial(const Denial& denial);

Denial PathDenial(const std::string& path, Access access, const Answer& answer);
Denial LimitDenial(const Cell& cell, Limit limit, uint64_t value);
// An address to which a command of a cell without a network wanted to connect or to send, or a name
// that it wanted to resolve.
Denial NetworkDenial(const Cell& cell, const cell::RefusedCall& refused);

// Of the command itself, which was found and could not be executed.
Denial ExecuteDenial(const Cell& cell, const Command& command);

// A program of the host, by a name without a directory, that the policy's executables are without.
// nullopt if the host has none, or the cell may execute it.
std::optional<Denial> UnlistedDenial(const Cell& cell, const Command& command,
                                     const std::string& name);

}  // namespace odyssey::explain

#endif  // ODYSSEY_POLICY_EXPLAIN_DENIAL_H_
