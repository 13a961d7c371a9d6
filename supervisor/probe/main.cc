// odyssey-probe: tries, from where it runs, what must not succeed and what must work. Runs in a
// cell for `odyssey-ctl doctor --probe`.
//
//   odyssey-probe run NAME=VALUE…    one line of JSON a probe, then {"done":N}; see targets.h
//   odyssey-probe linger … | eat BYTES | ignore | daemon NAME | identity     see linger.h

#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "supervisor/probe/answers.h"
#include "supervisor/probe/groups.h"
#include "supervisor/probe/linger.h"
#include "supervisor/probe/runner.h"

namespace odyssey::probe {
namespace {

constexpr int kUsage = 2;

int FailUsage(const std::string& why) {
  fprintf(stderr, "odyssey-probe: %s\n", why.c_str());
  return kUsage;
}

// Before anything is opened: what we were started with. The listing's own descriptor leads nowhere
// by the time that it is looked at.
std::vector<std::string> InheritedDescriptors() {
  std::vector<std::string> names, found;
  ListDirectory("/proc/self/fd", &names);
  for (const std::string& name : names) {
    char target[256] = "";
    const std::string path = "/proc/self/fd/" + name;
    if (atoi(name.c_str()) <= 2 || readlink(path.c_str(), target, sizeof(target) - 1) < 0) continue;
    found.push_back(name + " -> " + target);
  }
  return found;
}

// For what the probes make. In the directory for such things, which is there in every mode.
std::string MakeScratch() {
  const char* parent = getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe): one thread
  std::string path = std::string(parent == nullptr ? "/tmp" : parent) + "/odyssey-probe-XXXXXX";
  return mkdtemp(path.data()) == nullptr ? "" : path;
}

int Run(const std::vector<std::string>& words) {
  Targets targets;
  targets.inherited = InheritedDescriptors();
  std::string error;
  for (const std::string& word : words) {
    if (!targets.Add(word, &error)) return FailUsage(error);
  }
  for (const std::string& name : targets.Missing())
    return FailUsage("argument " + name + "= is missing");
  const std::string scratch = MakeScratch();
  if (scratch.empty()) return FailUsage("make a directory: " + ErrnoText(errno));

  // What a probe's children leave becomes ours to reap, and is killed with its group.
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  signal(SIGPIPE, SIG_IGN);
  size_t done = 0;
  for (const Probe& probe : AllProbes(targets)) {
    printf("%s\n", FormatResult(probe, RunProbe(probe, targets, scratch)).c_str());
    fflush(stdout);
    ++done;
  }
  rmdir(scratch.c_str());
  printf("{\"done\":%zu}\n", done);
  return 0;
}

}  // namespace
}  // namespace odyssey::probe

int main(int argc, char** argv) {
  namespace probe = odyssey::probe;
  const std::vector<std::string> words(argv + (argc > 1 ? 2 : 1), argv + argc);
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb == "run") return probe::Run(words);
  if (verb == "linger") return probe::Linger(words);
  if (verb == "identity") return probe::PrintIdentity();
  if (verb == "ignore") return probe::IgnoreSignals();
  if (verb == "eat" && words.size() == 1) return probe::EatMemory(words[0]);
  if (verb == "daemon" && words.size() == 1) return probe::LeaveDaemon(words[0]);
  return probe::FailUsage("run, linger, eat BYTES, daemon NAME, ignore or identity is allowed");
}
