// What `doctor --probe` judges from the host: each of its findings is seen to fail where somebody
// touched what it looks at, and no other is.

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <linux/keyctl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <map>
#include <set>

#include "common/os/file.h"
#include "ctl/doctor/probe_run.h"
#include "odyssey/supervisor/v1/supervisor.grpc.pb.h"
#include "tests/integration/cell_probe.h"
#include "tests/integration/throwaway_host.h"

namespace odyssey::testing {
namespace {

void Must(bool good, const std::string& what) {
  if (good) return;
  fprintf(stderr, "%s: %s\n", what.c_str(), strerrordesc_np(errno));
  _exit(1);
}

constexpr char kDirectory[] = "/tmp/probe";

std::unique_ptr<ctl::ProbeCanaries> Lay() {
  Must(mkdir(kDirectory, 0755) == 0, "make a directory");
  const std::string program = std::string(kDirectory) + "/program";
  const UniqueFd file(open(program.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0755));
  auto canaries = ctl::ProbeCanaries::Lay(
      {.directory = kDirectory, .program = program, .protected_names = {".git/hooks/"}});
  Must(canaries.ok(), canaries.status().ToString());
  return std::move(*canaries);
}

// What the canaries are called.
class Names final {
 public:
  explicit Names(const ctl::ProbeCanaries& canaries) {
    for (const std::string& word : canaries.Words()) {
      const size_t equals = word.find('=');
      values_[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }
  const std::string& operator[](const char* name) const { return values_.at(name); }
  int Number(const char* name) const { return atoi(values_.at(name).c_str()); }

 private:
  std::map<std::string, std::string> values_;
};

// ---- somebody who touches them

std::string In(const char* path) { return std::string(kDirectory) + path; }

void Make(const std::string& path, mode_t mode) {
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  Must(fd && fchmod(fd.get(), mode) == 0, path);
}

void Signal(const Names& names, int number) {
  const pid_t process = names.Number("pid");
  Must(kill(process, number) == 0, "kill");
  siginfo_t info;
  Must(waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WSTOPPED | WNOWAIT) == 0, "wait");
}

long Key(const Names& names) {
  return syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", names["key"].c_str(),
                 0);
}

void SendTo(int family, int type, const sockaddr* address, socklen_t size) {
  const UniqueFd fd(socket(family, type | SOCK_CLOEXEC, 0));
  Must(connect(fd.get(), address, size) == 0, "connect");
  if (type == SOCK_DGRAM) Must(send(fd.get(), "x", 1, 0) == 1, "send");
}

void SayOnLoopback(const Names& names, const char* port, int family, uint32_t host) {
  sockaddr_in6 six{};
  auto* four = reinterpret_cast<sockaddr_in*>(&six);
  six.sin6_family = static_cast<sa_family_t>(family);
  six.sin6_port = htons(static_cast<uint16_t>(names.Number(port)));
  if (family == AF_INET) four->sin_addr.s_addr = htonl(host);
  if (family == AF_INET6) six.sin6_addr = in6addr_loopback;
  SendTo(family, port[0] == 't' ? SOCK_STREAM : SOCK_DGRAM, reinterpret_cast<sockaddr*>(&six),
         family == AF_INET ? sizeof(*four) : sizeof(six));
}

void SayOnUnix(const std::string& name, int type) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, name.data(), name.size());
  if (name[0] == '@') address.sun_path[0] = '\0';
  const size_t size = offsetof(sockaddr_un, sun_path) + name.size() + (name[0] == '@' ? 0 : 1);
  SendTo(AF_UNIX, type, reinterpret_cast<sockaddr*>(&address), static_cast<socklen_t>(size));
}

void WriteSegment(const Names& names) {
  void* memory = shmat(shmget(names.Number("shm_key"), 0, 0), nullptr, 0);
  Must(memory != reinterpret_cast<void*>(-1), "shmat");
  static_cast<char*>(memory)[0] = '!';
}

void SendMessageToQueue(const Names& names) {
  const struct {
    long type = 1;
    char text[1] = {'x'};
  } message;
  Must(msgsnd(msgget(names.Number("shm_key"), 0), &message, 1, 0) == 0, "msgsnd");
}

struct Touch {
  const char* id;  // the finding that has to say so
  const char* what;
  void (*act)(const Names&);
};

const Touch kTouches[] = {
    {"writes.host_files", "a file is written",
     [](const Names&) { Must(truncate(In("/outside/secret").c_str(), 1) == 0, "truncate"); }},
    {"writes.host_files", "a file is made", [](const Names&) { Make(In("/ro/new"), 0600); }},
    {"writes.host_files", "a file is gone",
     [](const Names&) { Must(unlink(In("/ro/file").c_str()) == 0, "unlink"); }},
    {"escape.host_sysctls", "the host has another name",
     [](const Names&) { Must(sethostname("another", 7) == 0, "sethostname"); }},
    {"escape.host_set_id_files", "set-user-id", [](const Names&) { Make(In("/rw/f"), 04755); }},
    {"escape.host_set_id_files", "set-group-id in the workspace",
     [](const Names&) { Make(In("/workspace/f"), 02755); }},
    {"escape.host_set_id_files", "a device",
     [](const Names&) {
       Must(mknod(In("/workspace/d").c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0, "mknod");
     }},
    {"escape.host_set_id_files", "capabilities of a file",
     [](const Names&) {
       Make(In("/rw/f"), 0755);
       constexpr uint32_t kNone[] = {0x02000000, 1, 0, 0, 0};  // version 2, CAP_CHOWN permitted
       Must(setxattr(In("/rw/f").c_str(), "security.capability", kNone, sizeof(kNone), 0) == 0,
            "setxattr");
     }},
    {"leak.host_ipc", "the segment is written", WriteSegment},
    {"leak.host_ipc", "the semaphore is raised",
     [](const Names& names) {
       Must(semctl(semget(names.Number("shm_key"), 0, 0), 0, SETVAL, 1) == 0, "semctl");
     }},
    {"leak.host_ipc", "the queue has a message", SendMessageToQueue},
    {"leak.host_ipc", "POSIX shared memory is gone",
     [](const Names& names) { Must(shm_unlink(("/" + names["shm"]).c_str()) == 0, "shm_unlink"); }},
    {"leak.host_key", "the key is another",
     [](const Names& names) {
       Must(syscall(SYS_keyctl, KEYCTL_UPDATE, Key(names), "x", 1) == 0, "update the key");
     }},
    {"leak.host_key", "the key is gone",
     [](const Names& names) {
       Must(syscall(SYS_keyctl, KEYCTL_REVOKE, Key(names)) == 0, "revoke the key");
     }},
    {"leak.host_process", "killed", [](const Names& names) { Signal(names, SIGKILL); }},
    {"leak.host_process", "stopped", [](const Names& names) { Signal(names, SIGSTOP); }},
    {"network.host_listeners", "TCP",
     [](const Names& names) { SayOnLoopback(names, "tcp4", AF_INET, INADDR_LOOPBACK); }},
    {"network.host_listeners", "TCP to 127.0.0.2",
     [](const Names& names) { SayOnLoopback(names, "tcp4", AF_INET, INADDR_LOOPBACK + 1); }},
    {"network.host_listeners", "UDP",
     [](const Names& names) { SayOnLoopback(names, "udp4", AF_INET, INADDR_LOOPBACK); }},
    {"network.host_listeners", "TCP over IPv6",
     [](const Names& names) { SayOnLoopback(names, "tcp6", AF_INET6, 0); }},
    {"network.host_listeners", "UDP over IPv6",
     [](const Names& names) { SayOnLoopback(names, "udp6", AF_INET6, 0); }},
    {"network.host_unix_listeners", "by path",
     [](const Names& names) { SayOnUnix(names["unix"] + "-stream", SOCK_STREAM); }},
    {"network.host_unix_listeners", "datagrams",
     [](const Names& names) { SayOnUnix(names["unix"] + "-dgram", SOCK_DGRAM); }},
    {"network.host_unix_listeners", "packets, abstract",
     [](const Names& names) { SayOnUnix("@" + names["abstract"] + "-packet", SOCK_SEQPACKET); }},
    {"network.host_ro_listeners", "by path",
     [](const Names&) { SayOnUnix(std::string(kDirectory) + "/ro/daemon-stream", SOCK_STREAM); }},
};

void PrintFailures(const std::vector<ctl::ProbeResult>& results) {
  std::string text;
  for (const ctl::ProbeResult& result : results) {
    if (result.IsFailure()) text += result.id + "\n";
  }
  Must(WriteAll(STDOUT_FILENO, text).ok(), "write");
}

TEST(ProbeTamperTest, EachTouchOfACanaryIsSeenAndToldApart) {
  EXPECT_EQ(InThrowawayHost([] { PrintFailures(Lay()->Check("cell", false)); }), "");
  std::set<std::string> seen;
  for (const Touch& touch : kTouches) {
    const std::string failed = InThrowawayHost([&touch] {
      const auto canaries = Lay();
      touch.act(Names(*canaries));
      PrintFailures(canaries->Check("cell", /*network_full=*/false));
    });
    EXPECT_EQ(failed, std::string(touch.id) + "\n") << touch.what;
    seen.insert(touch.id);
  }
  // Every finding of Check has one.
  size_t findings = 0;
  const std::string count = InThrowawayHost([] {
    Must(WriteAll(STDOUT_FILENO, std::to_string(Lay()->Check("cell", false).size())).ok(), "write");
  });
  findings = strtoul(count.c_str(), nullptr, 10);
  EXPECT_EQ(findings, seen.size());
}

TEST(ProbeTamperTest, WithTheHostsNetworkItsListenersHaveToHear) {
  EXPECT_EQ(InThrowawayHost([] { PrintFailures(Lay()->Check("cell", /*network_full=*/true)); }),
            "works.host_listeners\n");
  EXPECT_EQ(InThrowawayHost([] {
              const auto canaries = Lay();
              SayOnLoopback(Names(*canaries), "tcp4", AF_INET, INADDR_LOOPBACK);
              PrintFailures(canaries->Check("cell", /*network_full=*/true));
            }),
            "");
}

// ---- a supervisor that confines nothing

constexpr uid_t kNobodysUser = 4242;

// Its cells are not there: commands end as they like, and what they leave stays.
class CarelessSupervisor final : public v1::Supervisor::Service {
 public:
  grpc::Status PrepareCell(grpc::ServerContext*, const v1::PrepareCellRequest* request,
                           v1::PrepareCellResponse* response) override {
    // Of the first kind only: each takes its time.
    const std::string first = "probe-" + std::to_string(getpid()) + "-1";
    const std::string& name = request->key().component();
    if (name != first && name.rfind(first + "-", 0) != 0) {
      return {grpc::StatusCode::FAILED_PRECONDITION, "one is enough"};
    }
    response->mutable_cell()->set_cell_id(name);
    response->mutable_cell()->set_host_uid(kNobodysUser);
    response->mutable_cell()->set_workspace_path(kDirectory);
    return grpc::Status::OK;
  }

  grpc::Status Exec(grpc::ServerContext* context,
                    grpc::ServerReaderWriter<v1::ExecResponse, v1::ExecRequest>* stream) override {
    v1::ExecRequest request;
    stream->Read(&request);
    const bool lingers = request.start().argv(1) == "linger";
    v1::ExecResponse response;
    response.mutable_output()->set_stream(v1::OUTPUT_STREAM_STDOUT);
    response.mutable_output()->set_data(lingers ? "ready\n" : "{\"done\":0}\n");
    stream->Write(response);
    while (lingers && !context->IsCancelled()) usleep(1000);
    response.mutable_outcome()->set_kind(v1::OUTCOME_KIND_EXITED);
    stream->Write(response);
    return grpc::Status::OK;
  }

  grpc::Status RemoveCell(grpc::ServerContext*, const v1::RemoveCellRequest*,
                          v1::RemoveCellResponse*) override {
    return grpc::Status::OK;
  }
};

void LeaveAProcess() {
  int ends[2];
  Must(pipe2(ends, O_CLOEXEC) == 0, "pipe");
  if (fork() == 0) {
    Must(setresuid(kNobodysUser, kNobodysUser, kNobodysUser) == 0, "setresuid");
    prctl(PR_SET_NAME, "odyprobe-daemon");
    Must(write(ends[1], "x", 1) == 1, "write");
    for (;;) pause();
  }
  char byte;
  Must(read(ends[0], &byte, 1) == 1, "wait for the process");
}

void ProbeCarelessly() {
  const auto canaries = Lay();
  LeaveAProcess();
  Must(mount("left", In("/workspace").c_str(), "tmpfs", 0, nullptr) == 0, "mount");
  CarelessSupervisor service;
  const std::string socket = "/tmp/careless.sock";
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  const v1::SupervisorStub stub(std::make_shared<rpc::H2Channel>(socket));
  ctl::ProbeInterrupt interrupt;
  ctl::ProbeReport report;
  const ctl::Console console;
  ctl::StatusLine line(console);
  const Status status = RunProbes({.calls = {.stub = stub, .interrupt = &interrupt},
                                   .canaries = canaries.get(),
                                   .directory = kDirectory,
                                   .host_words = {},
                                   .gone = std::chrono::milliseconds(100)},
                                  &line, &report);
  Must(status.ok(), status.ToString());
  PrintFailures(report.results);
}

TEST(ProbeTamperTest, WhatASupervisorLeavesOrDoesNotStopIsSeen) {
  EXPECT_EQ(InThrowawayHost(ProbeCarelessly),
            "limits.memory\nlimits.wall_clock\nlimits.daemon\nescape.host_processes\n"
            "leak.host_tree\nescape.host_mounts\n");
}

}  // namespace
}  // namespace odyssey::testing
