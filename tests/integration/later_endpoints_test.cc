// Unix sockets that the host binds in a writable tree while the cell lives: each is covered soon
// after it appears, also for commands that run already, and those of the cell are not.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/integration/later_endpoints_fixture.h"
#include "tests/integration/unix_listener.h"

namespace odyssey::testing {
namespace {

namespace fs = std::filesystem;

constexpr int kTypes[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
constexpr size_t kAttempts = 9;

class LaterEndpointsTest : public LaterEndpoints {
 protected:
  bool Says(const std::string& cell, const std::string& text) {
    const auto lines = ExplanationOf(&supervisor_, cell);
    return std::any_of(lines.begin(), lines.end(),
                       [&](const auto& line) { return line.find(text) != std::string::npos; });
  }

  // Of the only cell: pid 1 in its namespace, and in no other that lies in it.
  pid_t CellInit() const {
    for (const pid_t pid : supervisor_.CellProcesses()) {
      std::istringstream numbers(StatusField(pid, "NSpid"));
      int outer = 0, inner = 0, more = 0;
      if (numbers >> outer >> inner && inner == 1 && !(numbers >> more)) return pid;
    }
    return -1;
  }

  // Three, of which the path begins with `name`.
  void Listen(const std::string& name) {
    for (const int type : kTypes) {
      listeners_.emplace_back(tree_ + name + std::to_string(type), type);
      listeners_.back().GiveTo(kOwner);
    }
  }
  static std::string Attempts(const std::string& name) {
    std::string out = kAwaitCover;
    for (const int type : kTypes) {
      const std::string path = "'/data" + name + std::to_string(type) + "'";
      out +=
          "await_cover(" + path + ")\n" + UnixAttempts("data" + name + std::to_string(type), path);
    }
    return out;
  }
  void ExpectSilence() {
    for (const UnixListener& each : listeners_) EXPECT_FALSE(Heard(each.fd()));
  }

  std::deque<UnixListener> listeners_;
};

TEST_F(LaterEndpointsTest, WhereverItAppearsItHearsNothing) {
  Make("/there/in");
  const std::string cell = Cell();
  Listen("/top");
  Listen("/there/in/x");
  Make("/new/a/b");
  Listen("/new/a/b/x");
  // In a directory that comes from elsewhere.
  fs::create_directories(tree_ + "-elsewhere/d");
  {
    const std::string tree = std::exchange(tree_, tree_ + "-elsewhere");
    Listen("/d/x");
    tree_ = tree;
  }
  fs::rename(tree_ + "-elsewhere/d", tree_ + "/moved");
  ASSERT_EQ(lchown((tree_ + "/moved").c_str(), kOwner, kOwner), 0);
  const Findings findings = Probe(
      &supervisor_, cell,
      Attempts("/top") + Attempts("/there/in/x") + Attempts("/new/a/b/x") + Attempts("/moved/x"));
  ExpectAll(findings, {"EACCES"}, 4 * 3 * kAttempts);
  ExpectSilence();
}

TEST_F(LaterEndpointsTest, ByAnotherNameItHearsNothing) {
  const std::string cell = Cell();
  Listen("/x");
  for (const int type : kTypes) {
    const std::string path = tree_ + "/x" + std::to_string(type);
    fs::create_hard_link(path, tree_ + "/linked" + std::to_string(type));
    fs::rename(path, tree_ + "/renamed" + std::to_string(type));
  }
  ExpectAll(Probe(&supervisor_, cell, Attempts("/linked") + Attempts("/renamed")), {"EACCES"},
            2 * 3 * kAttempts);
  ExpectSilence();
}

TEST_F(LaterEndpointsTest, AtEachPlaceWhereItIsMountedItHearsNothing) {
  Make("/in");
  auto request = Request();
  for (const char* target : {"/again", "/data2"}) {
    policy::v1::Mount* mount = request.mutable_sandbox()->add_mounts();
    mount->set_source(target == std::string("/again") ? tree_ + "/in" : tree_);
    mount->set_target(target);
    mount->set_access(policy::v1::ACCESS_READ_WRITE);
  }
  const std::string cell = supervisor_.Cell(request);
  Listen("/in/x");
  for (const std::string place : {"/data/in", "/again", "/data2/in"}) {
    std::string script = kAwaitCover;
    for (const int type : kTypes) {
      const std::string path = "'" + place + "/x" + std::to_string(type) + "'";
      script += "await_cover(" + path + ")\n" + UnixAttempts(std::to_string(type), path);
    }
    ExpectAll(Probe(&supervisor_, cell, script), {"EACCES"}, 3 * kAttempts);
  }
  ExpectSilence();
}

TEST_F(LaterEndpointsTest, MountedMoreOftenThanIsWatchedIsSaid) {
  auto request = Request();
  for (int i = 0; i < 20; ++i) {
    *request.mutable_sandbox()->add_mounts() = request.sandbox().mounts(0);
    request.mutable_sandbox()->mutable_mounts(i + 1)->set_target("/more" + std::to_string(i));
  }
  const std::string cell = supervisor_.Cell(request);
  std::vector<std::string> watched;
  for (const auto& mount : request.sandbox().mounts()) {
    if (!Says(cell, mount.target() + ": NOT watched")) watched.push_back(mount.target());
  }
  EXPECT_EQ(watched.size(), 16u);
  UnixListener listener(tree_ + "/one", SOCK_STREAM);
  listener.GiveTo(kOwner);
  std::string script = kAwaitCover;
  for (const std::string& target : watched) {
    script += "await_cover('" + target + "/one')\nattempt('" + target +
              "', lambda: socket.socket(socket.AF_UNIX).connect('" + target + "/one'))\n";
  }
  ExpectAll(Probe(&supervisor_, cell, script), {"EACCES"}, watched.size());
  EXPECT_FALSE(Heard(listener.fd()));
}

// Another has each of its names from then on.
TEST_F(LaterEndpointsTest, ADirectoryThatHadManyNamesIsWatchedByItsLast) {
  const auto name = [&](int i) { return tree_ + "/" + std::to_string(i); };
  for (int i = 0; i <= 20; ++i) Make("/" + std::to_string(i));
  const std::string cell = Cell();
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(renameat2(-1, name(i).c_str(), -1, name(i + 1).c_str(), RENAME_EXCHANGE), 0);
    usleep(10'000);  // so that each name is seen, mostly
  }
  Listen("/20/x");
  ExpectAll(Probe(&supervisor_, cell, Attempts("/20/x")), {"EACCES"}, 3 * kAttempts);
  EXPECT_FALSE(Says(cell, "/data: NOT watched"));
  ExpectSilence();
}

// Which removes the name, and so what covered it.
TEST_F(LaterEndpointsTest, AServerThatIsStartedAnewHearsNothing) {
  Listen("/x");
  const std::string cell = Cell();
  for (int i = 0; i < 3; ++i) {
    listeners_.clear();
    Listen("/x");
    ExpectAll(Probe(&supervisor_, cell, Attempts("/x")), {"EACCES"}, 3 * kAttempts);
    ExpectSilence();
  }
}

TEST_F(LaterEndpointsTest, ACommandThatRunsAlreadyIsNotHeard) {
  const std::string cell = Cell();
  RunningExec running(supervisor_.stub(), cell,
                      "echo started; while [ \"$(stat -c %a /data/x1 2>&1)\" != 0 ]; do "
                      "sleep 0.01; done; python3 -c \"import socket\n"
                      "socket.socket(socket.AF_UNIX).connect('/data/x1')\"");
  ASSERT_TRUE(running.ReadUntil("started"));
  Listen("/x");
  EXPECT_THAT(running.Finish().err, ::testing::HasSubstr("PermissionError"));
  ExpectSilence();
}

// Of every command, old and new, whatever the host binds beside them.
TEST_F(LaterEndpointsTest, TheCellsOwnAreItsOwn) {
  const std::string cell = Cell();
  const ExecResult result = supervisor_.Python(cell, R"(
import os, socket
os.chdir('/data')
for i in range(200):
    os.makedirs(f'd{i}')
    kind = [socket.SOCK_STREAM, socket.SOCK_SEQPACKET][i % 2]
    server = socket.socket(socket.AF_UNIX, kind)
    server.bind(f'd{i}/s'); server.listen()
    os.rename(f'd{i}/s', f'd{i}/t')
    for _ in range(3):
        client = socket.socket(socket.AF_UNIX, kind)
        client.connect(f'd{i}/t'); client.send(b'x')
        assert server.accept()[0].recv(9) == b'x'
    os.unlink(f'd{i}/t')
print('all')
)");
  EXPECT_EQ(result.out, "all\n") << result.ToString();

  RunningExec server(supervisor_.stub(), cell, R"(exec python3 -c "
import os, socket
server = socket.socket(socket.AF_UNIX)
server.bind('/data/own'); server.listen()
print('listens', flush=True)
for _ in range(20): server.accept()[0].send(b'hello')
")");
  ASSERT_TRUE(server.ReadUntil("listens"));
  Listen("/x");
  const Findings findings = Probe(&supervisor_, cell, Attempts("/x") + R"(
for i in range(20):
    client = socket.socket(socket.AF_UNIX)
    attempt(f'own {i}', lambda: client.connect('/data/own'))
    report(f'text {i}', client.recv(9).decode())
)");
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(findings.at("own " + std::to_string(i)), "ok");
    EXPECT_EQ(findings.at("text " + std::to_string(i)), "hello");
  }
  ExpectSilence();
}

// A socket that was closed while pid 1 looked at it is not taken for the host's.
TEST_F(LaterEndpointsTest, TheCellsOwnOfAMomentAreItsOwn) {
  const std::string cell = Cell();
  const ExecResult result = supervisor_.Python(cell, R"(
import os, random, socket, time
os.chdir('/data')
ends = time.monotonic() + 3
children = [os.fork() for _ in range(2)]
name = f's{os.getpid()}'
while time.monotonic() < ends:
    server = socket.socket(socket.AF_UNIX)
    server.bind(name); server.listen()
    time.sleep(random.expovariate(5000))
    server.close()
    os.unlink(name)
if 0 in children: os._exit(0)
assert all(os.wait()[1] == 0 for _ in children)
print('all')
)");
  EXPECT_EQ(result.out, "all\n") << result.ToString();
}

// As many as are covered at once, one after the other; those that are gone count no more.
TEST_F(LaterEndpointsTest, ManyServersAreCoveredAndMoreAreSaidNotToBe) {
  const std::string cell = Cell();
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 250; ++i) {
      listeners_.emplace_back(tree_ + "/" + std::to_string(round) + "-" + std::to_string(i),
                              SOCK_STREAM);
    }
    Listen("/x");
    ExpectAll(Probe(&supervisor_, cell, Attempts("/x")), {"EACCES"}, 3 * kAttempts);
    ExpectSilence();
    listeners_.clear();
  }
  EXPECT_FALSE(Says(cell, "/data: NOT watched"));
  for (int i = 0; i < 300; ++i) {
    listeners_.emplace_back(tree_ + "/last-" + std::to_string(i), SOCK_STREAM);
  }
  EXPECT_TRUE(Eventually([&] { return Says(cell, "/data: NOT watched"); }));
}

// What is deep, or comes with more directories than are watched, is found once; what is made in
// those later is not, and that is said.
TEST_F(LaterEndpointsTest, LargeTreesThatAppearAreSearchedAndSaidNotToBeWatched) {
  const std::string cell = Cell();
  const std::string deep = "/deep/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r";
  Make(deep);
  Listen(deep + "/x");
  (void)Probe(&supervisor_, cell, Attempts(deep + "/x"));
  ExpectSilence();
  EXPECT_FALSE(Says(cell, "/data: NOT watched"));

  fs::create_directories(tree_ + "-elsewhere/wide");
  for (int i = 0; i < 3000; ++i) {
    fs::create_directories(tree_ + "-elsewhere/wide/d" + std::to_string(i));
  }
  {
    const std::string tree = std::exchange(tree_, tree_ + "-elsewhere");
    Listen("/wide/d2999/x");
    tree_ = tree;
  }
  fs::rename(tree_ + "-elsewhere/wide", tree_ + "/wide");
  ExpectAll(Probe(&supervisor_, cell, Attempts("/wide/d2999/x")), {"EACCES"}, 3 * kAttempts);
  ExpectSilence();
  EXPECT_TRUE(Eventually([&] { return Says(cell, "/data: NOT watched"); }));
}

// It may be the cell's own, and so it stays open to who can enter it.
TEST_F(LaterEndpointsTest, DirectoriesThatAppearClosedAreSaidNotToBeWatched) {
  const std::string cell = Cell();
  EXPECT_FALSE(Says(cell, "/data: NOT watched"));
  ASSERT_TRUE(supervisor_.Shell(cell, "mkdir -m 0311 /data/hidden").Exited(0));
  EXPECT_TRUE(Eventually([&] { return Says(cell, "/data: NOT watched"); }));
}

// The kernel takes no name of 4,096 bytes, and so nothing can be covered there.
TEST_F(LaterEndpointsTest, DirectoriesTooDeepToBeNamedAreSaidNotToBeWatched) {
  const std::string cell = Cell();
  const ExecResult result = supervisor_.Python(cell, R"(
import os
os.chdir('/data')
for i in range(22):
    os.mkdir('d' * 200); os.chdir('d' * 200)
)");
  EXPECT_TRUE(result.Exited(0)) << result.ToString();
  EXPECT_TRUE(Eventually([&] { return Says(cell, "/data: NOT watched"); }));
}

// More names than the kernel has room to tell of (fs.inotify.max_queued_events) do not hide one.
TEST_F(LaterEndpointsTest, AFloodOfNamesHidesNothing) {
  const std::string cell = Cell();
  const pid_t init = CellInit();
  ASSERT_TRUE(SignalProcess(init, SIGSTOP));
  const int most = std::stoi(Slurp("/proc/sys/fs/inotify/max_queued_events"));
  for (int i = 0; i <= most; ++i) std::ofstream(tree_ + "/f" + std::to_string(i));
  Listen("/x");
  ASSERT_TRUE(SignalProcess(init, SIGCONT));
  ExpectAll(Probe(&supervisor_, cell, Attempts("/x")), {"EACCES"}, 3 * kAttempts);
  ExpectSilence();
}

// Where the cell's own cannot be told from the host's, that is said.
TEST_F(LaterEndpointsTest, WithTheHostsNetworkNothingIsWatched) {
  for (const auto network : {policy::v1::NETWORK_NONE, policy::v1::NETWORK_FULL}) {
    auto request = Request();
    request.mutable_sandbox()->set_network(network);
    request.mutable_sandbox()->set_landlock(policy::v1::LANDLOCK_BEST_EFFORT);
    const auto cell = supervisor_.Prepare(request);
    ASSERT_TRUE(cell.ok()) << cell.status().message();
    const bool watched = network == policy::v1::NETWORK_NONE;
    EXPECT_EQ(Says(cell->cell_id(), "/data: NOT watched"), !watched);
    EXPECT_EQ(Says(cell->cell_id(), "those that the host makes later are covered"), watched);
  }
}

TEST_F(LaterEndpointsTest, WhatWasCoveredIsTold) {
  const std::string cell = Cell();
  EXPECT_FALSE(Says(cell, "out of reach"));
  Listen("/x");
  (void)Probe(&supervisor_, cell, Attempts("/x"));
  EXPECT_TRUE(Eventually([&] { return Says(cell, "/data/x1: out of reach: a socket"); }));
  const ExecResult result = supervisor_.Shell(cell, "echo x > /data/x1");
  ASSERT_EQ(result.denials.size(), 1u) << result.ToString();
  EXPECT_EQ(result.denials[0].rule(), "policy protection /data/x1 of the host");
}

// The test of the tests.
TEST_F(LaterEndpointsTest, WithoutProtectionEachIsHeard) {
  GrantNoProtection(supervisor_);
  auto request = Request();
  request.mutable_sandbox()->set_protection(policy::v1::PROTECTION_NONE);
  const std::string cell = supervisor_.Cell(request);
  Listen("/x");
  std::string attempts;
  for (const int type : kTypes) {
    attempts += UnixAttempts(std::to_string(type), "'/data/x" + std::to_string(type) + "'");
  }
  (void)Probe(&supervisor_, cell, attempts);
  for (const UnixListener& each : listeners_) EXPECT_TRUE(Heard(each.fd()));
}

}  // namespace
}  // namespace odyssey::testing
