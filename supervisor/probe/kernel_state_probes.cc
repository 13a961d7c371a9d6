// How the kernel sees this process: what it says of us in /proc/self.

#include <sys/prctl.h>

#include <sstream>

#include "supervisor/probe/answers.h"
#include "supervisor/probe/groups.h"

namespace odyssey::probe {
namespace {

Finding CapabilitySet(const std::string& name) {
  const std::string set = OwnStatus(name);
  if (set.empty()) return Broken("/proc/self/status does not say");
  return set.find_first_not_of('0') == std::string::npos ? Contained("none") : Escaped(set);
}

Finding Status(const std::string& name, const std::string& wanted) {
  const std::string value = OwnStatus(name);
  return value == wanted ? Contained(value) : Escaped(value.empty() ? "it is not said" : value);
}

constexpr unsigned long kIdsOfImage = 65536;

// "inside outside count", a line each: a user of one's own, or those of an image, and not the
// host's root.
Finding IdMap(const Targets& targets, const std::string& path) {
  const bool image = targets.Is("root", "image");
  std::istringstream lines(Slurp(path));
  unsigned long inside = 0, outside = 0, count = 0;
  size_t seen = 0;
  while (lines >> inside >> outside >> count) {
    ++seen;
    if (count != (image ? kIdsOfImage : 1)) {
      return Escaped(std::to_string(count) + " ids are mapped");
    }
    if (outside < (image ? kIdsOfImage : 1) || (inside == 0 && !image)) {
      return Escaped("root is mapped");
    }
  }
  if (seen != 1) return Broken("it says nothing");
  return Contained(image ? "ids of no user of the host" : "one id, not root's");
}

}  // namespace

void AddKernelStateProbes(Probes* all) {
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
    all->push_back({std::string("kernel.capabilities:") + set, "empty", "cell-init",
                    [set](const Targets&) { return CapabilitySet(set); }});
  }
  all->push_back({"kernel.no_new_privileges", "1", "bubblewrap, cell-init",
                  [](const Targets&) { return Status("NoNewPrivs", "1"); }});
  all->push_back({"kernel.filter", "2: system calls are filtered", "cell-init",
                  [](const Targets&) { return Status("Seccomp", "2"); }});
  for (const char* map : {"uid_map", "gid_map"}) {
    const std::string path = std::string("/proc/self/") + map;
    all->push_back({"kernel.map:" + path, "one id, not root's", "root: a user namespace",
                    [path](const Targets& t) { return IdMap(t, path); }});
  }
}

}  // namespace odyssey::probe
