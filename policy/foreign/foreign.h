#ifndef ODYSSEY_POLICY_FOREIGN_FOREIGN_H_
#define ODYSSEY_POLICY_FOREIGN_FOREIGN_H_

// A request as the nearest that another sandbox can be told, and what that cannot say. Pure: looks
// at no host. Where a system has no word for something, the stricter of what it can say is written,
// if there is one.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "policy/model/request.h"

namespace odyssey::foreign {

enum class System { kBwrap, kSeatbelt, kDockerRun, kOpenShell, kCodex };

struct SystemName {
  std::string_view name;
  System system;
};
inline constexpr SystemName kSystems[] = {{"bwrap", System::kBwrap},
                                          {"seatbelt", System::kSeatbelt},
                                          {"docker-run", System::kDockerRun},
                                          {"openshell", System::kOpenShell},
                                          {"codex", System::kCodex}};

// What the written policy is, beside a cell of the request.
enum class Effect { kWeaker, kStricter, kDifferent };
std::string_view EffectName(Effect effect);  // "weaker", …

// An item of the request that the system cannot say.
struct Gap {
  Effect effect;
  std::string item;  // as a policy has it: "resources.pids 512"
  std::string why;
  friend bool operator==(const Gap&, const Gap&) = default;
};

struct Written {
  std::string text;     // a script, a profile, a file
  std::string comment;  // begins a line of comment in it
  std::vector<Gap> gaps;
};

// Variables whose values no text has: name in the cell → name in the environment of the script,
// which reads the value when it runs.
using Variables = std::map<std::string, std::string>;

// INVALID_ARGUMENT: the request runs commands without a cell, or has a text that the format cannot
// hold.
Result<Written> Write(const policy::SandboxRequest& request, const Variables& secrets,
                      System system);

// The text with a line of comment for each gap: after the first line if that has to be the first.
std::string WithGaps(const Written& written);

}  // namespace odyssey::foreign

#endif  // ODYSSEY_POLICY_FOREIGN_FOREIGN_H_
