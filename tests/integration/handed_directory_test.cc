// A directory that one command opened and handed to another by a socket shows what the cell shows,
// also when the slot of the first has ended, and with it the mount namespace that it was opened in.

#include <gtest/gtest.h>

#include <signal.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "tests/integration/cell_probe.h"

namespace odyssey::testing {
namespace {

namespace fs = std::filesystem;

// Takes the directory, waits until the host says so, and tries.
constexpr char kTake[] = R"(
import time
server = socket.socket(socket.AF_UNIX); server.bind('/tmp/hand'); server.listen()
print('waits', flush=True)
_, (handed,), _, _ = socket.recv_fds(server.accept()[0], 9, 1)
while not os.path.exists('/workspace/go'): time.sleep(0.01)
time.sleep(0.5)
def write(name, flags):
    os.write(os.open('workspace/' + name, os.O_WRONLY | os.O_NONBLOCK | flags, 0o666, dir_fd=handed), b'x')
for name in ['.git/config', '.envrc']:
    attempt(name, lambda: write(name, 0))
attempt('hook', lambda: write('.git/hooks/new', os.O_CREAT))
attempt('a.secret', lambda: os.open('workspace/a.secret', os.O_RDONLY, dir_fd=handed))
)";
constexpr char kHand[] = R"(
client = socket.socket(socket.AF_UNIX); client.connect('/tmp/hand')
socket.send_fds(client, [b'x'], [os.open('/', os.O_RDONLY)])
print('handed', flush=True)
import time; time.sleep(1000)
)";

std::string Python(const std::string& script) {
  return "exec python3 - <<'END'\n" + ProbeScript(script) + "END\n";
}

class HandedDirectoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(workspace_ / ".git/hooks");
    for (const char* name : {".git/config", ".envrc", "a.secret"}) {
      std::ofstream(workspace_ / name) << "of the host\n";
    }
  }
  v1::PrepareCellRequest Request() const {
    v1::PrepareCellRequest request = SupervisorHarness::Request("handed");
    request.set_workspace(workspace_);
    return request;
  }
  std::string Cell() { return supervisor_.Cell(Request()); }

  std::set<pid_t> Processes() {
    const auto processes = supervisor_.CellProcesses();
    return {processes.begin(), processes.end()};
  }
  // Ends pid 1 of the slot of the command that is not among `before`. No command can.
  void KillNewSlot(const std::set<pid_t>& before) {
    const std::set<pid_t> now = Processes();
    for (const pid_t pid : now) {
      const pid_t init = ParentOf(pid);
      const bool is_new = before.count(pid) == 0 && CommandName(pid) == "python3";
      if (is_new && now.count(init) != 0) kill(init, SIGKILL);
    }
  }

  // What the taker found once the other command is gone, with its slot or by itself.
  Findings HandOver(const std::string& cell, bool with_slot) {
    RunningExec taker(supervisor_.stub(), cell, Python(kTake));
    EXPECT_TRUE(taker.ReadUntil("waits"));
    const std::set<pid_t> before = Processes();
    RunningExec giver(supervisor_.stub(), cell, Python(kHand));
    EXPECT_TRUE(giver.ReadUntil("handed"));
    if (with_slot) {
      KillNewSlot(before);
    } else {
      giver.Cancel();
    }
    (void)giver.Finish();
    std::ofstream(workspace_ / "go").flush();
    const ExecResult result = taker.Finish();
    EXPECT_TRUE(result.Exited(0)) << result.ToString();
    fs::remove(workspace_ / "go");
    return FindingsOf(result.out);
  }

  SupervisorHarness supervisor_;
  const fs::path workspace_ = supervisor_.directory() + "/w";
};

TEST_F(HandedDirectoryTest, ItShowsNoMoreWhenItsSlotHasEnded) {
  Findings findings = HandOver(Cell(), true);
  findings.erase("a.secret");  // nobody denies it here
  ExpectAllRefused(findings, 3);
}

TEST_F(HandedDirectoryTest, ItShowsNoMoreWhenItsCommandWasKilled) {
  Findings findings = HandOver(Cell(), false);
  findings.erase("a.secret");
  ExpectAllRefused(findings, 3);
}

TEST_F(HandedDirectoryTest, ItShowsNoDeniedNameWhenItsSlotHasEnded) {
  if (const std::string why = supervisor_.WhyNoDeniedNames(); !why.empty()) GTEST_SKIP() << why;
  auto request = Request();
  request.mutable_sandbox()->add_deny("**/*.secret");
  ExpectAllRefused(HandOver(supervisor_.Cell(request), true), 4);
}

}  // namespace
}  // namespace odyssey::testing
