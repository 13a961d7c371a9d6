#include "supervisor/cell_init/confinement.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "tests/testing/machine.h"

namespace odyssey::cell_init {
namespace {

namespace fs = std::filesystem;

// Landlock needs no privilege, and a kernel understands every older version of it: each that this
// machine has is tried.
class ConfinementTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string path = (fs::temp_directory_path() / "odyssey-confinement-XXXXXX").string();
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    directory_ = path;
    fs::create_directories(directory_ / "rw/one");
    fs::create_directories(directory_ / "rw/two");
    std::ofstream(directory_ / "file") << "text";
    std::ofstream(directory_ / "rw/one/file") << "text";
  }
  void TearDown() override { fs::remove_all(directory_); }

  cell::Configure ReadOnlyButRw() const {
    return {.rules = {{"/", cell::kRead | cell::kExecute},
                      {directory_ / "rw", cell::kRead | cell::kWrite}}};
  }

  static bool Has(uint32_t abi) { return testing::LandlockAbi() >= static_cast<int>(abi); }

  // What `action` answers in a child confined as by a kernel of this ABI: errno, 0, or -1 if the
  // confinement failed.
  int Under(uint32_t abi, const cell::Configure& configure, const std::function<int()>& action) {
    const pid_t child = fork();
    if (child == 0) {
      auto confinement = Confinement::Build(configure, abi);
      prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
      if (!confinement.ok() || !confinement->EnterLandlock().ok()) _exit(255);
      _exit(action() == 0 ? 0 : errno);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    const int code = WEXITSTATUS(status);
    return code == 255 ? -1 : code;
  }

  // Where this machine has that version.
  void ExpectUnder(uint32_t abi, const cell::Configure& configure,
                   const std::function<int()>& action, int answer) {
    if (Has(abi)) {
      EXPECT_EQ(Under(abi, configure, action), answer) << abi;
    }
  }

  fs::path directory_;
};

TEST_F(ConfinementTest, EachVersionRefusesWhatItKnows) {
  if (!Has(1)) GTEST_SKIP() << "this machine has no Landlock";
  const std::string file = directory_ / "file";
  const auto truncate_it = [&] { return truncate(file.c_str(), 0); };
  const auto write_it = [&] { return open(file.c_str(), O_WRONLY) < 0 ? -1 : 0; };
  const auto move_it = [&] {
    return rename((directory_ / "rw/one/file").c_str(), (directory_ / "rw/two/file").c_str());
  };
  const pid_t other = getpid();
  const auto signal_it = [&] { return kill(other, 0); };
  const auto configure = ReadOnlyButRw();
  for (const uint32_t abi : {1u, 2u, 3u, 5u, 6u}) {
    ExpectUnder(abi, configure, write_it, EACCES);
    ExpectUnder(abi, configure, truncate_it, abi < 3 ? 0 : EACCES);
    ExpectUnder(abi, configure, signal_it, abi < 6 ? 0 : EPERM);
  }
  ExpectUnder(1, configure, move_it, EXDEV);
  ExpectUnder(2, configure, move_it, 0);
}

TEST_F(ConfinementTest, AbstractSocketsAreClosedWhereTheyMayBeTheHosts) {
  if (!Has(5)) GTEST_SKIP() << "this machine's Landlock has ABI " << testing::LandlockAbi();
  sockaddr_un address{AF_UNIX, {}};
  const std::string name = "odyssey-confinement-" + std::to_string(getpid());
  memcpy(address.sun_path + 1, name.data(), name.size());
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  const UniqueFd server(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(bind(server.get(), generic, sizeof(address)), 0);
  const auto connect_it = [&] {
    return connect(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), generic, sizeof(address));
  };
  cell::Configure configure = ReadOnlyButRw();
  ExpectUnder(6, configure, connect_it, 0);
  configure.own_network = false;
  ExpectUnder(6, configure, connect_it, EPERM);
  ExpectUnder(5, configure, connect_it, 0);
}

TEST_F(ConfinementTest, RefusesAKernelThatIsOlderThanThePolicyNeeds) {
  cell::Configure configure = ReadOnlyButRw();
  configure.landlock_abi = 6;
  EXPECT_EQ(Confinement::Build(configure, 5).status().message(), "Landlock ABI 5, 6 is needed");
  EXPECT_EQ(Confinement::Build(configure, 6).ok(), Has(6)) << "or the kernel refuses the rules";
  configure.landlock_abi = 1;
  EXPECT_EQ(Confinement::Build(configure, 0).status().code(), Code::kFailedPrecondition);
}

TEST_F(ConfinementTest, RunsWithoutWhereThePolicyLetsIt) {
  cell::Configure configure = ReadOnlyButRw();
  configure.landlock_abi = 0;
  const std::string file = directory_ / "file";
  const auto write_it = [&] { return open(file.c_str(), O_WRONLY) < 0 ? -1 : 0; };
  EXPECT_EQ(Under(0, configure, write_it), 0);
  ExpectUnder(1, configure, write_it, EACCES);
}

TEST_F(ConfinementTest, NamesARuleWhosePathIsNotThere) {
  if (!Has(1)) GTEST_SKIP() << "this machine has no Landlock";
  const Status status =
      Confinement::Build({.rules = {{directory_ / "missing", cell::kRead}}}).status();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_NE(status.message().find((directory_ / "missing").string()), std::string::npos);
}

}  // namespace
}  // namespace odyssey::cell_init
