// What an agent leaves in a workspace of the host for the host's own tools to run later.

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "supervisor/probe/answers.h"
#include "supervisor/probe/groups.h"

namespace odyssey::probe {
namespace {

constexpr char kSafe[] = "it is read-only";
constexpr char kLayer[] = "protection: read-only parts of a writable tree";
const Errnos kKept = {EPERM, EACCES, EROFS, EBUSY, EXDEV};

// Nothing of the host is there to be kept, or nothing can be written at all.
bool Applies(const Targets& targets) {
  return targets.Is("tree", "host") && targets.Is("mode", "workspace_write");
}

Finding DoesNotApply() { return NotApplicable("the workspace is not a writable one of the host"); }

Finding Write(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return BrokenAt("the host did not lay out " + path);
  if (!S_ISDIR(info.st_mode)) return MustNotOpen(path, O_WRONLY | O_APPEND);
  const std::string child = path + "/odyssey-probe";
  const Answer answer = Answered(mkdir(child.c_str(), 0700));
  if (answer.result == 0) rmdir(child.c_str());
  return MustBeRefused(answer);
}

// Out of the way, so that another can be put in its place; and back.
Finding MoveAside(const std::string& path) {
  const std::string aside = path + ".aside";
  const Answer answer = Answered(rename(path.c_str(), aside.c_str()));
  if (answer.result == 0) rename(aside.c_str(), path.c_str());
  return MustBeRefused(answer, kKept);
}

}  // namespace

void AddPersistenceProbes(const Targets& targets, Probes* all) {
  const std::string workspace = targets.Text("workspace") + "/";
  for (const std::string& name : targets.All("protected")) {
    const std::string path = workspace + name;
    all->push_back({"persist.write:" + name, kSafe, kLayer, [path](const Targets& t) {
                      return Applies(t) ? Write(path) : DoesNotApply();
                    }});
    all->push_back({"persist.move:" + name, kSafe, kLayer, [path](const Targets& t) {
                      return Applies(t) ? MoveAside(path) : DoesNotApply();
                    }});
  }
  // What is on the way to them.
  all->push_back({"persist.move:.git", "it cannot be moved aside", kLayer,
                  [path = workspace + ".git"](const Targets& t) {
                    return Applies(t) ? MoveAside(path) : DoesNotApply();
                  }});
}

}  // namespace odyssey::probe
