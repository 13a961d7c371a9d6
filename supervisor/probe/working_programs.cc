// Programs of the system: what has to work where the policy lets them be executed.

#include <stdlib.h>
#include <sys/stat.h>

#include "supervisor/probe/answers.h"
#include "supervisor/probe/groups.h"

namespace odyssey::probe {
namespace {

constexpr int kCode = 7;

bool IsExplicit(const Targets& targets) { return targets.Is("executables", "explicit"); }
Finding NotNamed() { return NotApplicable("in this cell only named programs may be executed"); }

Finding Succeeds(const std::vector<std::string>& argv, int code = 0) {
  if (access(argv[0].c_str(), F_OK) != 0) return NotApplicable("the host has no " + argv[0]);
  const Ended ended = Execute(argv);
  if (!ended.started) return Broken("execute " + argv[0] + ": " + ErrnoText(ended.error));
  return ended.Exited(code) ? Works()
                            : Broken(argv[0] + " ended with " + std::to_string(ended.status));
}

void AddCommand(const char* id, const char* what, std::vector<std::string> argv, Probes* all) {
  all->push_back({std::string("works.") + id, what, "", [argv = std::move(argv)](const Targets& t) {
                    return IsExplicit(t) ? NotNamed() : Succeeds(argv);
                  }});
}

Finding OwnProgram(const Targets& targets) {
  const Ended ended = Execute({targets.Text("bin") + "/odyssey-probe", "identity"});
  if (!ended.started) return Broken(ErrnoText(ended.error));
  return ended.Exited(kOrdinary) || ended.Exited(kPrivileged) ? Works() : Broken("its exit status");
}

Finding WrittenProgram(const Targets& targets) {
  if (!targets.Is("executables", "all")) {
    return NotApplicable("in this cell what was written may not be executed");
  }
  if (!CopyFile(targets.Text("bin") + "/odyssey-probe", "mine")) return BrokenAt("copy");
  const Ended ended = Execute({"./mine", "identity"});
  if (!ended.Exited(kOrdinary) && !ended.Exited(kPrivileged))
    return Broken("a program: " + ErrnoText(ended.error));
  if (!Spit("script", "#!/bin/sh\nexit 7\n", 0700)) return BrokenAt("make a script");
  return Succeeds({"./script"}, kCode);
}

}  // namespace

void AddWorkingPrograms(Probes* all) {
  AddCommand("sh", "the shell", {"/bin/sh", "-c", "cat <<END | grep -q two\none two\nEND"}, all);
  AddCommand("git", "a commit, a branch, a clone",
             {"/bin/sh", "-c",
              "command -v git >/dev/null || exit 0; export HOME=$PWD GIT_CONFIG_NOSYSTEM=1; "
              "git init -q r && cd r && echo x >f && git add f && "
              "git -c user.email=a@b -c user.name=a commit -q -m first && git branch side && "
              "git clone -q . ../copy && test -f ../copy/f"},
             all);
  AddCommand("python", "threads, processes and sockets of Python",
             {"/usr/bin/python3", "-c",
              "import multiprocessing, subprocess, socket, tempfile, threading\n"
              "t = threading.Thread(target=print); t.start(); t.join()\n"
              "q = multiprocessing.Queue(); q.put(1); assert q.get() == 1\n"
              "assert subprocess.run(['true']).returncode == 0\n"
              "socket.create_server(('127.0.0.1', 0)).close(); tempfile.TemporaryFile().close()"},
             all);
  AddCommand("perl", "Perl", {"/usr/bin/perl", "-e", "exit(1) if `echo x` ne \"x\\n\""}, all);
  AddCommand("tools", "awk, sed, sort, find, tar",
             {"/bin/sh", "-c",
              "set -e; seq 100 | sort -rn | sed 1q | awk '{exit $1 != 100}'; mkdir d; echo x >d/f; "
              "tar -cf t.tar d; rm -r d; tar -xf t.tar; find d -type f | grep -q f"},
             all);
  AddCommand("lookups", "looking up users and hosts by name",
             {"/bin/sh", "-c",
              "getent passwd \"$(id -u)\" >/dev/null && getent hosts localhost >/dev/null"},
             all);
  all->push_back({"works.own_program", "a program in an executable mount", "", OwnProgram});
  all->push_back({"works.written_program", "programs that were written, where all may execute", "",
                  WrittenProgram});
}

}  // namespace odyssey::probe
