#ifndef ODYSSEY_POLICY_EXPLAIN_DENIAL_H_
#define ODYSSEY_POLICY_EXPLAIN_DENIAL_H_

// What confinement refused, for people and for models: odyssey.supervisor.v1.Denial as a value.
// Pure.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/explain/command.h"
#include "policy/explain/complaint.h"
#include "policy/explain/explain.h"

namespace odyssey::explain {

// Known for certain: the kernel's answer, or something that the supervisor itself did.
inline constexpr char kFromKernel[] = "kernel";
// The words of the command itself, as far as the plan agrees with them. It may forge them.
inline constexpr char kFromCommand[] = "command";

// What was done about it.
inline constexpr char kDeny[] = "deny";  // it did not happen
inline constexpr char kKill[] = "kill";  // who went on to do it was killed
inline constexpr char kCut[] = "cut";    // output beyond it was not delivered

inline constexpr size_t kMaxResource = 512;  // bytes kept

struct Denial {
  std::string kind, resource, access, rule;
  Grant grant;
  std::string process, source;
  uint64_t count = 1;  // how often, where that is counted
  std::string verdict = kDeny;
  std::string session_id;      // of the cell; the broker sets it
  bool repeats_error = false;  // `rule` is what the error says already
  friend bool operator==(const Denial&, const Denial&) = default;
};

// "comm[pid]", as the command sees it; "" without a pid.
std::string ProcessText(std::string_view comm, uint32_t pid);

// One thing that was refused in one way by one rule, whoever tried it.
bool IsSameThing(const Denial& a, const Denial& b);

// "write /usr/x (mount /usr read_only)", and if there is a grant "; to allow: …". Text of a command
// is in it: to be sanitised where it is shown.
std::string DescribeDenial(const Denial& denial);

Denial PathDenial(const std::string& path, Access access, const Answer& answer,
                  const std::string& source);
Denial LimitDenial(const Cell& cell, Limit limit, uint64_t value, const std::string& source);

// Of the command itself, which was found and could not be executed.
Denial ExecuteDenial(const Cell& cell, const Command& command, const std::string& source);

// A program of the host, by a name without a directory, that the policy's executables are without.
// nullopt if the host has none, or the cell may execute it.
std::optional<Denial> UnlistedDenial(const Cell& cell, const Command& command,
                                     const std::string& name, const std::string& source);

// System calls that every cell refuses, with the words by which programs complain about them.
struct RefusedCall {
  std::string_view word, call;
};
std::span<const RefusedCall> RefusedCalls();

// What of the complaints the plan does refuse, each resource and rule once. A relative name is the
// resource as the command said it where its directory is not known.
std::vector<Denial> JudgeComplaints(const Cell& cell, const Command& command,
                                    const std::vector<Complaint>& complaints);

}  // namespace odyssey::explain

#endif  // ODYSSEY_POLICY_EXPLAIN_DENIAL_H_
