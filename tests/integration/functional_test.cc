// What agents need keeps working inside the confinement.

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/integration/cell_probe.h"

namespace odyssey::testing {
namespace {

class FunctionalTest : public ::testing::Test {
 protected:
  ExecResult Shell(const std::string& script, const ExecOptions& options = {}) {
    return supervisor_.Shell(cell_, "set -e\n" + script, options);
  }
  ExecResult Python(const std::string& script, const ExecOptions& options = {}) {
    return supervisor_.Python(cell_, script, options);
  }

  SupervisorHarness supervisor_;
  const std::string cell_ = supervisor_.Cell();
};

TEST_F(FunctionalTest, GitInitAddCommitBranchMergeClone) {
  const ExecResult result = Shell(R"(
git init -q -b main project
cd project
git config user.email agent@example.org
git config user.name agent
echo one > file
git add .
git commit -q -m first
git checkout -q -b side
echo two >> file
git commit -q -a -m second
git checkout -q main
git merge -q side
git stash list
git gc -q
git clone -q . ../copy
cd ../copy
git log --format=%s
git status --short
)");
  EXPECT_TRUE(result.Exited(0)) << result.ToString();
  EXPECT_EQ(result.out, "second\nfirst\n");
}

TEST_F(FunctionalTest, GitInAMountedRepositoryOfTheHost) {
  const std::string repository = supervisor_.directory() + "/repository";
  ASSERT_EQ(system(("git init -q " + repository).c_str()), 0);  // NOLINT(concurrency-mt-unsafe)
  auto request = SupervisorHarness::Request("mounted");
  request.set_workspace(repository);
  const ExecResult result = supervisor_.Shell(supervisor_.Cell(request), R"(
echo x > file && git add . && git -c user.email=a@b -c user.name=a commit -q -m first &&
git log --format=%s && git status --short)");
  EXPECT_EQ(result.out, "first\n") << result.ToString();
}

TEST_F(FunctionalTest, PythonWithThreadsProcessesAndSharedMemory) {
  const ExecResult result = Python(R"(
import asyncio, concurrent.futures, multiprocessing, subprocess, tempfile, threading
from multiprocessing import shared_memory
def square(x):
    return x * x
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    print(sum(pool.map(square, range(100))))
with multiprocessing.Pool(3) as pool:
    print(sum(pool.map(square, range(100))))
queue = multiprocessing.Queue()
process = multiprocessing.Process(target=queue.put, args=('from a process',))
process.start()
print(queue.get())
process.join()
block = shared_memory.SharedMemory(create=True, size=64)
block.buf[:5] = b'hello'
again = shared_memory.SharedMemory(block.name)
print(bytes(again.buf[:5]))
again.close()
block.close()
block.unlink()
semaphore = multiprocessing.Semaphore(0)
process = multiprocessing.Process(target=semaphore.release)
process.start()
print(semaphore.acquire(timeout=100))
process.join()
print(subprocess.run(['tr', 'a-z', 'A-Z'], input='pipe', text=True, capture_output=True).stdout)
with tempfile.NamedTemporaryFile() as file:
    print(file.name.startswith('/cell/tmp/'))
async def main():
    process = await asyncio.create_subprocess_exec('true')
    return await process.wait()
print(asyncio.run(main()))
)");
  EXPECT_TRUE(result.Exited(0)) << result.ToString();
  EXPECT_EQ(result.out, "328350\n328350\nfrom a process\nb'hello'\nTrue\nPIPE\nTrue\n0\n");
}

TEST_F(FunctionalTest, SystemVIpcAndNamedSemaphores) {
  const ExecResult result = Python(R"(
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
segment = libc.shmget(0, 4096, 0o1600)
libc.shmat.restype = ctypes.c_void_p
libc.shmat.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
print(segment >= 0, libc.shmat(segment, None, 0) not in (None, 2**64 - 1))
print(libc.semget(0, 1, 0o1600) >= 0, libc.msgget(0, 0o1600) >= 0)
libc.sem_open.restype = ctypes.c_void_p
print(libc.sem_open(b'/named', os.O_CREAT, 0o600, 1) is not None)
)");
  EXPECT_EQ(result.out, "True True\nTrue True\nTrue\n") << result.ToString();
}

TEST_F(FunctionalTest, MessageQueuesAreSharedByTheCellsCommandsAndByNobodyElse) {
  const std::string open_queue = R"(
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
def open_queue(flags):
    queue = libc.mq_open(b'/of-the-cell', flags, 0o600, None)
    return queue if queue >= 0 else errno.errorcode[ctypes.get_errno()]
)";
  const std::string receive = open_queue + R"(
queue = open_queue(os.O_RDONLY | os.O_NONBLOCK)
text = ctypes.create_string_buffer(8192)
print(queue if queue == 'ENOENT' else libc.mq_receive(queue, text, 8192, None), text.value)
)";
  ASSERT_EQ(Python(open_queue + "print(libc.mq_send(open_queue(os.O_CREAT | os.O_RDWR), b'hi', 2,"
                                " 0), os.listdir('/dev/mqueue'))")
                .out,
            "0 ['of-the-cell']\n");
  EXPECT_EQ(supervisor_.Python(supervisor_.Cell(SupervisorHarness::Request("other")), receive).out,
            "ENOENT b''\n");
  EXPECT_EQ(Python(receive).out, "2 b'hi'\n");
  EXPECT_EQ(Shell("rm /dev/mqueue/of-the-cell && ls /dev/mqueue && "
                  "grep ' /dev/mqueue ' /proc/self/mountinfo | cut -d' ' -f6")
                .out,
            "rw,nosuid,nodev,noexec,relatime\n");
}

TEST_F(FunctionalTest, LoopbackServersOverTcpAndUdp) {
  const ExecResult result = Python(R"(
import http.server, socket, threading, urllib.request
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'served')
    def log_message(self, *_):
        pass
for family, host in [(socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1')]:
    class Server(http.server.ThreadingHTTPServer):
        address_family = family
    server = Server((host, 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    name = f'[{host}]' if ':' in host else host
    print(urllib.request.urlopen(f'http://{name}:{server.server_port}/').read())
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(('localhost', 0))
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'datagram', receiver.getsockname())
print(receiver.recv(16))
)");
  EXPECT_EQ(result.out, "b'served'\nb'served'\nb'datagram'\n") << result.ToString();
}

TEST_F(FunctionalTest, UnixSocketsInsideTheCellPathAndAbstract) {
  const ExecResult result = Python(R"(
import array, os, socket
for name in ['/tmp/socket', 'socket', b'\0abstract']:
    server = socket.socket(socket.AF_UNIX)
    server.bind(name)
    server.listen()
    client = socket.socket(socket.AF_UNIX)
    client.connect(name)
    end, _ = server.accept()
    client.sendall(b'hello')
    print(end.recv(5))
datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
datagrams.bind('datagrams')
socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'to', 'datagrams')
print(datagrams.recv(2))
one, two = socket.socketpair()
reader, writer = os.pipe()
socket.send_fds(one, [b'x'], [reader])
_, fds, _, _ = socket.recv_fds(two, 1, 1)
os.write(writer, b'passed')
print(os.read(fds[0], 6))
)");
  EXPECT_EQ(result.out, "b'hello'\nb'hello'\nb'hello'\nb'to'\nb'passed'\n") << result.ToString();
}

TEST_F(FunctionalTest, CommandsOfOneCellTalkToEachOther) {
  RunningExec server(supervisor_.stub(), cell_, R"(exec python3 -c "
import socket
servers = [socket.create_server(('127.0.0.1', 4444))]
for name in ['/tmp/server', chr(0) + 'server']:
    servers.append(socket.socket(socket.AF_UNIX))
    servers[-1].bind(name)
    servers[-1].listen()
print('up', flush=True)
for server in servers: server.accept()[0].sendall(b'from another command')
")");
  ASSERT_TRUE(server.ReadUntil("up"));
  const ExecResult result = Python(R"(
import socket
clients = [socket.create_connection(('127.0.0.1', 4444))]
for name in ['/tmp/server', b'\0server']:
    clients.append(socket.socket(socket.AF_UNIX))
    clients[-1].connect(name)
for client in clients: print(client.recv(64).decode())
)");
  const std::string one = "from another command\n";
  EXPECT_EQ(result.out, one + one + one) << result.ToString();
}

TEST_F(FunctionalTest, StandardStreamsAreOpenedByName) {
  const ExecResult given = Shell(R"(
echo one > /dev/stdout
echo two | tee /dev/stderr
cat /dev/stdin
ls -l /dev/fd/1 > /dev/fd/2)",
                                 {.input = "given\n"});
  EXPECT_TRUE(given.Exited(0)) << given.ToString();
  EXPECT_EQ(given.out, "one\ntwo\ngiven\n");
  EXPECT_EQ(given.err.rfind("two\n", 0), 0u) << given.err;

  const ExecResult none = Shell("cat /dev/stdin; cat < /proc/self/fd/0; test -c /dev/stdin");
  EXPECT_TRUE(none.Exited(0)) << none.ToString();
  EXPECT_EQ(none.out, "");
}

TEST_F(FunctionalTest, PseudoTerminals) {
  const ExecResult result = Python(R"(
import os, pty, termios
pid, master = pty.fork()
if pid == 0:
    os.execvp('sh', ['sh', '-c', 'tty; test -t 0 && echo terminal'])
text = b''
try:
    while chunk := os.read(master, 1024):
        text += chunk
except OSError:
    pass
os.waitpid(pid, 0)
print(b'/dev/pts/' in text, b'terminal' in text)
)");
  EXPECT_EQ(result.out, "True True\n") << result.ToString();
  EXPECT_NE(Shell("script -q -c 'tty' /dev/null < /dev/null").out.find("/dev/pts/"),
            std::string::npos);
}

TEST_F(FunctionalTest, DebuggersOfOwnChildren) {
  const ExecResult result = Python(R"(
import ctypes, os, signal
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long
child = os.fork()
if child == 0:
    libc.ptrace(0, 0, None, None)  # TRACEME
    os.kill(os.getpid(), signal.SIGSTOP)
    os._exit(42)
_, status = os.waitpid(child, 0)
print(os.WIFSTOPPED(status))
registers = ctypes.create_string_buffer(512)
print(libc.ptrace(12, child, None, registers))  # GETREGS
libc.ptrace(7, child, None, None)  # CONT
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
reader, writer = os.pipe()
child = os.fork()
if child == 0:
    os.read(reader, 1)
    os._exit(43)
print(libc.ptrace(16, child, None, None))  # ATTACH
print(os.WIFSTOPPED(os.waitpid(child, 0)[1]))
ctypes.set_errno(0)
libc.ptrace(1, child, id(None), None)  # PEEKTEXT
print(ctypes.get_errno())
print(libc.ptrace(17, child, None, None))  # DETACH
os.write(writer, b'x')
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
)");
  EXPECT_EQ(result.out, "True\n0\n42\n0\nTrue\n0\n0\n43\n") << result.ToString();
}

TEST_F(FunctionalTest, InterfacesAreListed) {
  const ExecResult result = Python(R"(
import ctypes
libc = ctypes.CDLL(None)
pointer = ctypes.c_void_p()
print(libc.getifaddrs(ctypes.byref(pointer)), pointer.value is not None)
)");
  EXPECT_EQ(result.out, "0 True\n") << result.ToString();
}

TEST_F(FunctionalTest, JobControlOnATerminal) {
  const ExecResult result = Shell(R"(set -m
sleep 1000 &
jobs > list
grep -c Running list
kill %1
wait %1 || echo ended
cat <<END | tr a-z A-Z
here document
END
)",
                                  {.terminal = true});
  EXPECT_TRUE(result.Exited(0)) << result.ToString();
  EXPECT_NE(result.out.find("1\r\n"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("ended"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("HERE DOCUMENT"), std::string::npos) << result.out;
}

TEST_F(FunctionalTest, PipelinesHereDocumentsFifosAndTraps) {
  const ExecResult result = Shell(R"(
cat <<END | tr a-z A-Z | sed s/ONE/1/
one two
END
mkfifo fifo
echo through > fifo & cat fifo
wait
trap 'echo trapped' USR1
kill -USR1 $$
seq 1 100000 | sort -rn | head -1
find /usr/bin -name env | xargs -n1 basename
nohup true 2>/dev/null
ln -s fifo link && readlink link
touch -d 2020-01-01 old && test old -ot fifo
chmod 600 old && stat -c %a old
)");
  EXPECT_TRUE(result.Exited(0)) << result.ToString();
  EXPECT_EQ(result.out, "1 TWO\nthrough\ntrapped\n100000\nenv\nfifo\n600\n");
}

TEST_F(FunctionalTest, LargeOutputIsComplete) {
  const ExecResult result = Shell("head -c 50000000 /dev/zero; head -c 3000000 /dev/zero >&2");
  EXPECT_TRUE(result.Exited(0)) << result.status.ToString();
  EXPECT_EQ(result.out.size(), 50'000'000u);
  EXPECT_EQ(result.err.size(), 3'000'000u);
  EXPECT_FALSE(result.outcome.stdout_truncated());
}

TEST_F(FunctionalTest, ScriptsRunByTheirInterpreter) {
  const ExecResult result = Shell(R"(
printf 'echo from sh' > script.sh
printf 'print("from python")' > script.py
sh script.sh
sh ./script.sh
python3 script.py
perl -e 'print "from perl\n"'
awk 'BEGIN { print "from awk" }'
)");
  EXPECT_EQ(result.out, "from sh\nfrom sh\nfrom python\nfrom perl\nfrom awk\n")
      << result.ToString();
}

TEST_F(FunctionalTest, ScriptsAndProgramsOfTheAgentRunWhenAllMayExecute) {
  auto request = SupervisorHarness::Request("all");
  request.mutable_sandbox()->set_executables_mode(policy::v1::EXECUTABLES_MODE_ALL);
  const ExecResult result = supervisor_.Shell(supervisor_.Cell(request), R"(
printf '#!/bin/sh\necho script' > script && chmod +x script && ./script &&
cp /bin/echo mine && ./mine program)");
  EXPECT_EQ(result.out, "script\nprogram\n") << result.ToString();
}

TEST_F(FunctionalTest, NodeRunsWithItsThreadsAndItsServer) {
  if (access("/usr/bin/node", X_OK) != 0) GTEST_SKIP() << "node is not installed";
  const ExecResult result = supervisor_.Exec(cell_, {"node", "-e", R"(
const http = require('http'), fs = require('fs'), child = require('child_process');
const server = http.createServer((_, answer) => answer.end('served'));
server.listen(0, '127.0.0.1', () => http.get({port: server.address().port}, answer =>
  answer.on('data', data => {
    console.log(String(data));
    fs.promises.writeFile('file', 'x').then(() => {
      console.log(child.execFileSync('echo', ['child']).toString().trim());
      server.close();
      process.exit(0);
    });
  })));
)"});
  EXPECT_EQ(result.out, "served\nchild\n") << result.ToString();
}

TEST_F(FunctionalTest, GdbRunsAProgram) {
  if (access("/usr/bin/gdb", X_OK) != 0) GTEST_SKIP() << "gdb is not installed";
  const ExecResult result =
      supervisor_.Exec(cell_, {"gdb", "-q", "-batch", "-ex", "set startup-with-shell off", "-ex",
                               "run", "-ex", "quit", "--args", "/bin/echo", "debugged"});
  EXPECT_NE(result.out.find("debugged"), std::string::npos) << result.ToString();
  EXPECT_NE(result.out.find("exited normally"), std::string::npos) << result.ToString();
}

TEST_F(FunctionalTest, TimeUsersAndLocaleAreKnown) {
  const ExecResult result = Shell(
      "date +%Z >/dev/null; id -un; id -gn; echo ~; getent hosts localhost >/dev/null; "
      "nproc >/dev/null; df /workspace >/dev/null; free >/dev/null 2>&1 || true; ps -e | wc -l; "
      "locale charmap");
  EXPECT_TRUE(result.Exited(0)) << result.ToString();
  EXPECT_NE(result.out.find("agent\nagent\n/cell/data/home\n"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("UTF-8"), std::string::npos) << result.out;
}

}  // namespace
}  // namespace odyssey::testing
