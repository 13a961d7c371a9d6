#include "ctl/view/confinement_line.h"

#include <string_view>

#include "ctl/base/sanitize.h"

namespace odyssey::ctl {
namespace {

// The layers a person asks about; the rest is in `cell show`.
constexpr std::string_view kShown[] = {"namespaces", "landlock", "seccomp", "cgroup"};

}  // namespace

std::string ConfinementLine(const supervisor::v1::CellInfo& cell) {
  if (cell.mode() == policy::v1::MODE_DANGER_FULL_ACCESS) {
    return "UNCONFINED: on the host, as uid " + std::to_string(cell.host_uid());
  }
  std::string out = "confined by: uid " + std::to_string(cell.host_uid());
  for (const std::string_view name : kShown) {
    for (const supervisor::v1::Feature& layer : cell.layers()) {
      if (layer.name() != name) continue;
      out += " · " + std::string(name) + " " +
             (layer.in_force() ? Sanitize(layer.detail(), Lines::kOne) : "MISSING");
    }
  }
  return out;
}

}  // namespace odyssey::ctl
