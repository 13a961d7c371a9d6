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

struct Script {
  const char* id;
  const char* what;
  std::vector<const char*> needs;  // programs of /usr/bin that a host may lack
  const char* text;                // for sh; fails at the first command that does
};

Finding RunScript(const Script& script) {
  for (const char* name : script.needs) {
    const std::string path = std::string("/usr/bin/") + name;
    if (access(path.c_str(), F_OK) != 0) return NotApplicable("the host has no " + path);
  }
  return Succeeds({"/bin/sh", "-ec", script.text});
}

const Script kScripts[] = {
    {"sh", "the shell", {}, "cat <<END | grep -q two\none two\nEND"},
    {"git",
     "a commit, a worktree, a merge, a clone with a submodule",
     {"git"},
     "export HOME=$PWD GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b; "
     "export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; "
     "git init -q part; git -C part commit -q --allow-empty -m part; "
     "git init -q r; cd r; echo x >f; git add f; git commit -q -m first; "
     "git worktree add -q ../tree -b side; echo y >../tree/g; git -C ../tree add g; "
     "git -C ../tree commit -q -m side; git merge -q side; "
     "git -c protocol.file.allow=always submodule --quiet add ../part part; "
     "git commit -q -m part; git gc -q; "
     "git -c protocol.file.allow=always clone -q --recursive . ../copy; test -f ../copy/g"},
    {"python",
     "threads, processes and sockets of Python",
     {"python3"},
     "python3 -c \"import multiprocessing, subprocess, socket, tempfile, threading\n"
     "t = threading.Thread(target=print); t.start(); t.join()\n"
     "q = multiprocessing.Queue(); q.put(1); assert q.get() == 1\n"
     "assert subprocess.run(['true']).returncode == 0\n"
     "socket.create_server(('127.0.0.1', 0)).close(); tempfile.TemporaryFile().close()\""},
    {"python_processes",
     "pools, managers and shared memory of Python",
     {"python3"},
     "python3 -c \"import math, multiprocessing\n"
     "from multiprocessing import shared_memory\n"
     "with multiprocessing.Pool(2) as pool: assert pool.map(math.factorial, [3, 4]) == [6, 24]\n"
     "with multiprocessing.Manager() as manager: assert manager.list([1])[0] == 1\n"
     "block = shared_memory.SharedMemory(create=True, size=64); block.close(); block.unlink()\""},
    {"python_environment",
     "a virtual environment of Python",
     {"python3"},
     "python3 -c 'import venv' || exit 0; python3 -m venv --without-pip v; v/bin/python -c ''"},
    {"sqlite",
     "a database that two connections share",
     {"python3"},
     "python3 -c \"import sqlite3\n"
     "a = sqlite3.connect('f'); a.execute('pragma journal_mode=wal')\n"
     "a.execute('create table t(x)'); a.execute('insert into t values(1)'); a.commit()\n"
     "assert sqlite3.connect('f').execute('select x from t').fetchall() == [(1,)]\""},
    {"http",
     "a server on loopback, asked by its name",
     {"python3", "curl"},
     "python3 -c \"import http.server, subprocess, threading\n"
     "server = http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)\n"
     "threading.Thread(target=server.serve_forever, daemon=True).start()\n"
     "url = 'http://localhost:%d/' % server.server_port\n"
     "subprocess.run(['curl', '-sf', '--noproxy', '*', url], check=True)\""},
    {"node",
     "a thread, a server and a child of node",
     {"node"},
     "node -e \"const http = require('http'), child = require('child_process');"
     "new (require('worker_threads').Worker)('1', {eval: true}).on('exit', () => {"
     "child.execFileSync('true'); const server = http.createServer((q, a) => a.end('x'));"
     "server.listen(0, '127.0.0.1', () => http.get({port: server.address().port}, "
     "answer => { answer.resume(); server.close(); }).end()); });\""},
    {"perl", "Perl", {"perl"}, "perl -e 'exit(1) if `echo x` ne qq(x\\n)'"},
    {"tools",
     "awk, sed, sort, find",
     {},
     "seq 100 | sort -rn | sed 1q | awk '{exit $1 != 100}'; find . -type d | grep -qx .; "
     "sort --version 2>&1 | grep -q GNU || exit 0; seq 30000 | sort -R -S 64K -T . | "
     "sort -n -S 64K -T . | tail -n 1 | grep -qx 30000"},
    {"archives",
     "tar, with modes and links",
     {},
     "mkdir d; echo x >d/f; chmod 741 d/f; ln -s f d/l; ln d/f d/h; tar -cf t.tar d; rm -r d; "
     "tar -xpf t.tar; test \"$(stat -c %a:%h d/f)\" = 741:2; test \"$(readlink d/l)\" = f"},
    {"build",
     "make with several processes, a compiler, a linker",
     {"make", "cc"},
     "echo 'int f(void) { return 0; }' >a.c; echo 'int f(void); int main(void) { return f(); }' "
     ">b.c; printf 'p: a.o b.o\\n\\tcc -o $@ $^\\n' >Makefile; make -s -j4; test -s p"},
    {"strace",
     "tracing one's own child",
     {"strace"},
     "strace -f -o log sh -c 'true; /bin/true'; grep -q execve log"},
    {"gdb",
     "debugging one's own child",
     {"gdb"},
     "export HOME=$PWD; gdb -q -batch -ex 'set startup-with-shell off' -ex run --args /bin/true "
     "2>&1 | grep -q 'exited normally'"},
    {"script",
     "a terminal for a command",
     {"script"},
     "script -qc tty /dev/null </dev/null | grep -q /dev/pts/"},
    {"ssh_keygen",
     "making a key",
     {"ssh-keygen"},
     "ssh-keygen -q -t ed25519 -N '' -f key; ssh-keygen -y -f key >/dev/null"},
    {"ssh_agent",
     "an agent for keys, which forbids cores of itself first",
     {"ssh-agent"},
     "ssh-agent sh -c 'test -S \"$SSH_AUTH_SOCK\"'"},
    {"time_zones",
     "time zones and UTF-8",
     {},
     "test -e /usr/share/zoneinfo/Asia/Tokyo || exit 0; "
     "test \"$(TZ=Asia/Tokyo date +%z)\" = +0900; LC_ALL=C.UTF-8 locale charmap | grep -q UTF"},
    {"manual", "the manual", {"man"}, "man --path | grep -q /"},
    {"lookups",
     "looking up users and hosts by name",
     {"getent"},
     "getent passwd \"$(id -u)\" >/dev/null; getent ahosts localhost >/dev/null"},
};

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
  for (const Script& script : kScripts) {
    all->push_back(
        {std::string("works.") + script.id, script.what, "", [&script](const Targets& targets) {
           return IsExplicit(targets) ? NotNamed() : RunScript(script);
         }});
  }
  all->push_back({"works.own_program", "a program in an executable mount", "", OwnProgram});
  all->push_back({"works.written_program", "programs that were written, where all may execute", "",
                  WrittenProgram});
}

}  // namespace odyssey::probe
