// Starts that cannot succeed, and peers that may not connect: a clear error, and whatever served
// before goes on.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "common/os/unique_fd.h"
#include "tests/testing/supervisor_harness.h"

namespace odyssey::testing {
namespace {

namespace fs = std::filesystem;

struct Ended {
  int exit_code = -1;
  std::string errors;
};

// Runs a program that is expected to end by itself.
Ended RunToEnd(const std::vector<std::string>& words) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(writer.get(), 1);
    dup2(writer.get(), 2);
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  writer.reset();
  Ended ended;
  char buffer[4096];
  for (ssize_t n; (n = read(reader.get(), buffer, sizeof(buffer))) > 0;) {
    ended.errors.append(buffer, static_cast<size_t>(n));
    // Ready means that it did not fail: the test must not wait for it.
    if (ended.errors.find("ready\n") != std::string::npos) SignalProcess(pid, SIGTERM);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  ended.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ended;
}

class StartTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string path = (fs::temp_directory_path() / "odyssey-start-XXXXXX").string();
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    directory_ = path;
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::string Path(const std::string& name) const { return (directory_ / name).string(); }

  std::vector<std::string> Command() const {
    return {ProgramDirectory() + "/odyssey-supervisor",
            "--state",
            Path("state"),
            "--run",
            Path("run"),
            "--uid-base",
            std::to_string(0x60000000U + static_cast<uint32_t>(getpid()) % 30000 * 4096)};
  }

  // In a mount namespace of its own, after the shell commands of `change`.
  Ended StartAfter(const std::string& change) {
    std::vector<std::string> words = {
        "unshare", "--mount", "/bin/sh", "-ec", change + "; exec \"$@\"", "sh"};
    for (const std::string& word : Command()) words.push_back(word);
    return RunToEnd(words);
  }

  void ExpectFailure(const Ended& ended, const std::string& words) {
    EXPECT_EQ(ended.exit_code, 1) << ended.errors;
    EXPECT_NE(ended.errors.find(words), std::string::npos) << ended.errors;
    EXPECT_EQ(ended.errors.find("ready\n"), std::string::npos);
    EXPECT_FALSE(fs::exists(Path("run/supervisor.sock")));
  }

  fs::path directory_;
};

TEST_F(StartTest, AStateDirectoryThatIsAFile) {
  std::ofstream(Path("state")) << "x";
  ExpectFailure(RunToEnd(Command()), Path("state") + " is not a directory");
}

TEST_F(StartTest, AStateDirectoryBelowAFile) {
  std::ofstream(Path("file")) << "x";
  std::vector<std::string> words = Command();
  words[2] = Path("file/state");
  ExpectFailure(RunToEnd(words), "create directory " + Path("file/state") + ": Not a directory");
}

TEST_F(StartTest, AStateDirectoryThatCannotBeWritten) {
  const std::string dir = directory_.string();
  ExpectFailure(
      StartAfter("mount --bind " + dir + " " + dir + " && mount -o remount,bind,ro " + dir),
      "create directory " + Path("state") + ": Read-only file system");
}

TEST_F(StartTest, ARunDirectoryThatIsAFile) {
  std::ofstream(Path("run")) << "x";
  ExpectFailure(RunToEnd(Command()), Path("run") + " is not a directory");
}

TEST_F(StartTest, ASocketPathTakenByAFile) {
  fs::create_directory(Path("run"));
  std::ofstream(Path("run/supervisor.sock")) << "precious";
  const Ended ended = RunToEnd(Command());
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_NE(ended.errors.find("exists and is not a socket"), std::string::npos) << ended.errors;
  EXPECT_EQ(fs::file_size(Path("run/supervisor.sock")), 8u) << "it must be left alone";
}

TEST_F(StartTest, NoBubblewrap) {
  ExpectFailure(StartAfter("mount --bind /dev/null /usr/bin/bwrap"), "/usr/bin/bwrap");
}

TEST_F(StartTest, NoSiblingPrograms) {
  std::ofstream(Path("grants")) << "games\n";
  const std::vector<std::string> programs = {"odyssey-supervisor", "odyssey-supervisor-rpc",
                                             "odyssey-cell-init", "odyssey-host-runner"};
  for (size_t i = 1; i < programs.size(); ++i) {
    const std::string& missing = programs[i];
    SCOPED_TRACE(missing);
    fs::create_directories(Path("bin"));
    for (const std::string& name : programs) {
      fs::copy_file(fs::path(ProgramDirectory()) / name, directory_ / "bin" / name,
                    fs::copy_options::overwrite_existing);
    }
    fs::remove(directory_ / "bin" / missing);
    std::vector<std::string> words = Command();
    words[0] = Path("bin/odyssey-supervisor");
    words.insert(words.end(), {"--danger-grants", Path("grants")});
    ExpectFailure(RunToEnd(words), missing);
  }
}

TEST_F(StartTest, BadOptions) {
  const std::string program = ProgramDirectory() + "/odyssey-supervisor";
  const Ended unknown = RunToEnd({program, "--sate", "/x"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.errors.find("unknown option --sate; allowed: --state"), std::string::npos)
      << unknown.errors;
  EXPECT_EQ(RunToEnd({program}).exit_code, 2);
}

TEST_F(StartTest, NotAsRoot) {
  std::vector<std::string> words = {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
  for (const std::string& word : Command()) words.push_back(word);
  ExpectFailure(RunToEnd(words), "must run as root");
}

// ── Beside one that serves ──────────────────────────────────────────────────────────────────────

class BesideTest : public StartTest {
 protected:
  std::vector<std::string> SecondCommand(const std::string& state, const std::string& run) const {
    std::vector<std::string> words = Command();
    words[2] = state;
    words[4] = run;
    return words;
  }

  void ExpectFirstUnharmed() {
    EXPECT_TRUE(supervisor_.Shell(cell_, "true").Exited(0));
    EXPECT_TRUE(supervisor_.Prepare(SupervisorHarness::Request("next")).ok());
    EXPECT_TRUE(fs::exists(supervisor_.socket()));
  }

  SupervisorHarness supervisor_;
  const std::string cell_ = supervisor_.Cell();
};

TEST_F(BesideTest, ASecondSupervisorOnTheSameRunDirectory) {
  const Ended ended = RunToEnd(SecondCommand(Path("state"), supervisor_.directory() + "/run"));
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_NE(ended.errors.find("something already serves on " + supervisor_.socket()),
            std::string::npos)
      << ended.errors;
  ExpectFirstUnharmed();
}

TEST_F(BesideTest, ASecondSupervisorOnTheSameState) {
  const Ended ended = RunToEnd(SecondCommand(supervisor_.directory() + "/state", Path("run")));
  ExpectFailure(ended, supervisor_.directory() + "/state is in use by another supervisor");
  ExpectFirstUnharmed();
}

// ── Who may connect ─────────────────────────────────────────────────────────────────────────────

// Types of HTTP/2 frames: what gRPC says first to a peer that is served, and what a refused one
// gets.
constexpr char kSettings = 4;
constexpr char kGoaway = 7;

// The type of the first frame on a connection with the peer credentials of `uid`; -1: none.
char FirstFrame(uid_t uid, const std::string& path) {
  char type = -1;
  // Peer credentials are those of the thread that connects.
  std::thread([&] {
    // The system call, not libc's function, which would change every thread.
    if (syscall(SYS_setresuid, uid, uid, uid) != 0) return;
    const UniqueFd made(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    if (connect(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      return;
    }
    char head[4];  // the length and the type of a frame
    if (recv(made.get(), head, sizeof(head), MSG_WAITALL) == sizeof(head)) type = head[3];
  }).join();
  return type;
}

TEST_F(BesideTest, AClientOfAnotherUidIsRefused) {
  EXPECT_EQ(FirstFrame(0, supervisor_.socket()), kSettings);
  EXPECT_EQ(FirstFrame(65534, supervisor_.socket()), kGoaway);
  EXPECT_EQ(FirstFrame(1000, supervisor_.socket()), kGoaway);
  // A cell's own uid least of all.
  EXPECT_EQ(FirstFrame(supervisor_.Prepare(SupervisorHarness::Request("uid"))->host_uid(),
                       supervisor_.socket()),
            kGoaway);
  ExpectFirstUnharmed();
}

}  // namespace
}  // namespace odyssey::testing
