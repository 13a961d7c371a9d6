// Unix sockets and named pipes of the host that lie in what a cell has mounted: those in a read
// mount, in the system's trees and in a tree with denied names hear nothing of the cell.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "tests/fakes/temporary_directory.h"
#include "tests/integration/cell_probe.h"
#include "tests/integration/unix_listener.h"

namespace odyssey::testing {
namespace {

namespace fs = std::filesystem;
using policy::v1::Access;

constexpr uid_t kOwner = 5000;  // of everything that is mounted; appears as the cell's user

// One of each kind in a directory.
class Endpoints final {
 public:
  explicit Endpoints(const std::string& directory)
      : stream_(directory + "/stream", SOCK_STREAM),
        datagram_(directory + "/datagram", SOCK_DGRAM),
        packets_(directory + "/packets", SOCK_SEQPACKET),
        pipe_(directory + "/pipe", kOwner) {
    for (const UnixListener* each : {&stream_, &datagram_, &packets_}) each->GiveTo(kOwner);
  }
  std::vector<std::string> Heard() const {
    std::vector<std::string> out;
    const std::pair<const char*, int> all[] = {{"stream", stream_.fd()},
                                               {"datagram", datagram_.fd()},
                                               {"packets", packets_.fd()},
                                               {"pipe", pipe_.fd()}};
    for (const auto& [name, fd] : all) {
      if (testing::Heard(fd)) out.emplace_back(name);
    }
    return out;
  }

 private:
  UnixListener stream_, datagram_, packets_;
  PipeReader pipe_;
};

// Python: every way to reach what Endpoints made in `directory` of the cell. 27 attempts at
// sockets, and 3 at the pipe.
std::string Attempts(const std::string& directory) {
  std::string out;
  for (const std::string name : {"stream", "datagram", "packets"}) {
    out += UnixAttempts(directory + " " + name, "'" + directory + "/" + name + "'");
  }
  out += PipeAttempts(directory + " pipe", directory + "/pipe");
  return out;
}
constexpr size_t kAtSockets = 27;
constexpr size_t kAttempts = kAtSockets + 3;

class HostEndpointsTest : public ::testing::Test {
 protected:
  std::string Make(const std::string& name) {
    const std::string path = supervisor_.directory() + "/host/" + name;
    fs::create_directories(path);
    const std::string top = supervisor_.directory() + "/host";
    for (const auto& entry : fs::recursive_directory_iterator(top)) {
      EXPECT_EQ(lchown(entry.path().c_str(), kOwner, kOwner), 0);
    }
    return path;
  }

  static void Mount(v1::PrepareCellRequest* request, const std::string& source,
                    const std::string& target, Access access) {
    policy::v1::Mount* mount = request->mutable_sandbox()->add_mounts();
    mount->set_source(source);
    mount->set_target(target);
    mount->set_access(access);
  }

  std::string CellWith(const std::string& source, const std::string& target, Access access) {
    auto request = SupervisorHarness::Request(target == "/data" ? "data" : "below");
    Mount(&request, source, target, access);
    return supervisor_.Cell(request);
  }

  SupervisorHarness supervisor_;
};

const std::vector<std::string> kNone;

TEST_F(HostEndpointsTest, WhatIsOnlyReadHearsNothingWheneverItWasMade) {
  const std::string tree = Make("read");
  Make("read/inside");
  const Endpoints top(tree), inside(tree + "/inside");
  const std::string cell = CellWith(tree, "/data", policy::v1::ACCESS_READ_ONLY);
  // Below a directory that the cell may write, where Landlock grants whatever is mounted.
  const std::string below = CellWith(tree, "/workspace/mount/data", policy::v1::ACCESS_READ_ONLY);
  Make("read/later");
  const Endpoints later(tree + "/later");
  for (const auto& [each, at] : {std::pair(cell, "/data"), {below, "/workspace/mount/data"}}) {
    const std::string mount = at;
    const Findings findings =
        Probe(&supervisor_, each,
              Attempts(mount) + Attempts(mount + "/inside") + Attempts(mount + "/later"));
    ExpectAll(findings, {"EACCES"}, 3 * kAttempts);
  }
  for (const Endpoints* each : {&top, &inside, &later}) EXPECT_EQ(each->Heard(), kNone);
}

TEST_F(HostEndpointsTest, TheSystemsTreesHearNothingWheneverItWasMade) {
  const fakes::TemporaryDirectory one("/opt"), other("/opt");
  std::string script;
  for (const std::string& path : {one.path(), other.path()}) {
    ASSERT_EQ(chmod(path.c_str(), 0777), 0);
    script += Attempts(path);
  }
  const Endpoints before(one.path());
  const std::string cell = supervisor_.Cell(SupervisorHarness::Request("system"));
  const Endpoints later(other.path());
  ExpectAll(Probe(&supervisor_, cell, script), {"EACCES"}, 2 * kAttempts);
  for (const Endpoints* each : {&before, &later}) EXPECT_EQ(each->Heard(), kNone);
}

TEST_F(HostEndpointsTest, AReadMountShowsItsOwnersFilesAndWhatEverybodyMayRead) {
  const std::string tree = Make("read");
  const auto file = [&](const std::string& name, mode_t mode, uid_t uid, gid_t gid) {
    const std::string path = tree + "/" + name;
    std::ofstream(path) << "text";
    EXPECT_EQ(chown(path.c_str(), uid, gid), 0);
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
  };
  file("own", 0600, kOwner, kOwner);
  file("own-of-another-group", 0600, kOwner, 7);
  file("everybodys", 0604, 7, 7);
  file("groups", 0640, 7, kOwner);
  file("anothers", 0600, 7, 7);
  const std::string cell = CellWith(tree, "/data", policy::v1::ACCESS_READ_ONLY);
  const Findings findings = Probe(&supervisor_, cell, R"(
for name in os.listdir('/data'):
    attempt(name, lambda: open('/data/' + name).read())
)");
  const Findings expected = {{"own", "ok"},
                             {"own-of-another-group", "ok"},
                             {"everybodys", "ok"},
                             {"groups", "EACCES"},
                             {"anothers", "EACCES"}};
  EXPECT_EQ(findings, expected);
}

TEST_F(HostEndpointsTest, ADirectoryWithDeniedNamesHearsNothingWheneverItWasMade) {
  const std::string tree = Make("deny");
  const Endpoints before(tree);
  auto request = SupervisorHarness::Request("endpoints");
  Mount(&request, tree, "/data", policy::v1::ACCESS_READ_WRITE);
  request.mutable_sandbox()->add_deny("**/.env");
  const std::string cell = supervisor_.Cell(request);
  Make("deny/later");
  const Endpoints later(tree + "/later");
  Findings findings = Probe(&supervisor_, cell, Attempts("/data") + Attempts("/data/later"));
  // The guard's pipe is another, which the attempts have open at both ends.
  std::erase_if(findings,
                [](const auto& each) { return each.first.find(" pipe ") != std::string::npos; });
  ExpectAll(findings, {"ECONNREFUSED"}, 2 * kAtSockets);
  EXPECT_EQ(before.Heard(), kNone);
  EXPECT_EQ(later.Heard(), kNone);
}

// What a command made, and what an earlier one left, is the cell's to use and to remove.
TEST_F(HostEndpointsTest, TheCellsOwnAreItsOwn) {
  const std::string tree = Make("write");
  {
    const UnixListener left(tree + "/left", SOCK_STREAM);
    left.GiveTo(kOwner);
    fs::rename(tree + "/left", tree + "/kept");  // or it would be removed now
  }
  const std::string cell = CellWith(tree, "/data", policy::v1::ACCESS_READ_WRITE);
  EXPECT_TRUE(fs::exists(tree + "/kept"));
  const ExecResult result = supervisor_.Python(cell, R"(
import os, socket, threading
os.chdir('/data')
os.unlink('kept')
for kind in [socket.SOCK_STREAM, socket.SOCK_SEQPACKET]:
    server = socket.socket(socket.AF_UNIX, kind)
    server.bind('kept'); server.listen()
    client = socket.socket(socket.AF_UNIX, kind)
    client.connect('kept'); client.send(b'hello')
    print(server.accept()[0].recv(9).decode())
    os.unlink('kept')
datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
datagrams.bind('kept')
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'datagram', 'kept')
print(datagrams.recv(9).decode())
os.mkfifo('pipe')
threading.Thread(target=lambda: open('pipe', 'w').write('through the pipe')).start()
print(open('pipe').read())
)");
  EXPECT_EQ(result.out, "hello\nhello\ndatagram\nthrough the pipe\n") << result.ToString();
}

// What a direct write reaches, as docs/policy/mounts.md says; and the test of the tests: with
// nothing in between, each is heard.
TEST_F(HostEndpointsTest, InADirectoryThatIsWrittenDirectlyEachIsHeard) {
  const std::string tree = Make("write");
  const Endpoints endpoints(tree);
  const std::string cell = CellWith(tree, "/data", policy::v1::ACCESS_READ_WRITE);
  (void)Probe(&supervisor_, cell, Attempts("/data"));
  EXPECT_EQ(endpoints.Heard(), (std::vector<std::string>{"stream", "datagram", "packets", "pipe"}));
}

}  // namespace
}  // namespace odyssey::testing
