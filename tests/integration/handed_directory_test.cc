// A directory that one command opened and handed to another by a socket shows what the cell shows,
// also when the slot of the first has ended, and with it the mount namespace that it was opened in.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "tests/integration/later_endpoints_fixture.h"
#include "tests/integration/unix_listener.h"

namespace odyssey::testing {
namespace {

namespace fs = std::filesystem;

// Takes the directory, waits until the host says so, and tries.
constexpr char kTake[] = R"(
import time
server = socket.socket(socket.AF_UNIX); server.bind('/tmp/hand'); server.listen()
print('waits', flush=True)
_, (handed,), _, _ = socket.recv_fds(server.accept()[0], 9, 1)
while not os.path.exists('/data/go'): time.sleep(0.01)
time.sleep(0.5)
def write(name, flags):
    os.write(os.open('data/' + name, os.O_WRONLY | os.O_NONBLOCK | flags, 0o666, dir_fd=handed), b'x')
for name in ['pipe', 'later', 'repository/.git/config', '.envrc']:
    attempt(name, lambda: write(name, 0))
for name in ['repository/.git/hooks/new', 'repository/.git/commondir']:
    attempt(name, lambda: write(name, os.O_CREAT))
attempt('a.secret', lambda: os.open('data/a.secret', os.O_RDONLY, dir_fd=handed))
)";
constexpr char kHand[] = R"(
client = socket.socket(socket.AF_UNIX); client.connect('/tmp/hand')
socket.send_fds(client, [b'x'], [os.open('/', os.O_RDONLY)])
print('handed', flush=True)
)";

std::string Python(const std::string& script) {
  return "exec python3 - <<'END'\n" + ProbeScript(script) + "END\n";
}

class HandedDirectoryTest : public LaterEndpoints {
 protected:
  void SetUp() override {
    LaterEndpoints::SetUp();
    for (const char* name : {"", "/hooks", "/objects", "/refs"}) {
      Make(std::string("/repository/.git") + name);
    }
    Write("/repository/.git/HEAD", "ref: refs/heads/main\n");
    Write("/repository/.git/config", "[core]\n");
    Write("/.envrc", "of the host\n");
    Write("/a.secret", "secret\n");
    pipe_.emplace(tree_ + "/pipe", kOwner);
  }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(tree_ + name) << text;
    ASSERT_EQ(chown((tree_ + name).c_str(), kOwner, kOwner), 0);
  }

  // What the taker found once the other command, which ended by `end`, is gone.
  Findings HandOver(const std::string& cell, const std::string& end, bool cancel) {
    RunningExec taker(supervisor_.stub(), cell, Python(kTake));
    EXPECT_TRUE(taker.ReadUntil("waits"));
    RunningExec giver(supervisor_.stub(), cell, Python(kHand + end));
    EXPECT_TRUE(giver.ReadUntil("handed"));
    if (cancel) giver.Cancel();
    (void)giver.Finish();
    later_.emplace(tree_ + "/later", kOwner);
    std::ofstream(tree_ + "/go").flush();
    const ExecResult result = taker.Finish();
    EXPECT_TRUE(result.Exited(0)) << result.ToString();
    fs::remove(tree_ + "/go");
    return FindingsOf(result.out);
  }
  void ExpectSilence() const {
    EXPECT_FALSE(Heard(pipe_->fd()));
    EXPECT_FALSE(Heard(later_->fd()));
  }

  std::optional<PipeReader> pipe_, later_;
};

// Pid 1 with another limit is of no use to the next command, and ends.
constexpr char kChangePidOne[] =
    "import resource; resource.prlimit(1, resource.RLIMIT_MSGQUEUE, (1, 1))\n";

TEST_F(HandedDirectoryTest, ItShowsNoMoreWhenItsSlotHasEnded) {
  Findings findings = HandOver(Cell(), kChangePidOne, false);
  findings.erase("a.secret");  // nobody denies it here
  ExpectAllRefused(findings, 6);
  ExpectSilence();
}

TEST_F(HandedDirectoryTest, ItShowsNoMoreWhenItsCommandWasKilled) {
  Findings findings = HandOver(Cell(), "import time; time.sleep(60)\n", true);
  findings.erase("a.secret");
  ExpectAllRefused(findings, 6);
  ExpectSilence();
}

TEST_F(HandedDirectoryTest, ItShowsNoDeniedNameWhenItsSlotHasEnded) {
  auto request = Request();
  request.mutable_sandbox()->add_deny("**/*.secret");
  Findings findings = HandOver(supervisor_.Cell(request), kChangePidOne, false);
  for (const char* name : {"pipe", "later"}) findings.erase(name);  // of the guard: the cell's own
  ExpectAllRefused(findings, 5);
  ExpectSilence();
}

// What is held for that is let go when no command runs.
TEST_F(HandedDirectoryTest, SlotsThatEndOneAfterAnotherLeaveNothing) {
  const std::string cell = Cell();
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(supervisor_.Python(cell, kChangePidOne).Exited(0)) << i;
  }
}

// A command that runs all the time cannot have others pile up what is held: the cell ends.
TEST_F(HandedDirectoryTest, TooManySlotsThatEndBesideACommandEndTheCell) {
  const std::string cell = Cell();
  RunningExec running(supervisor_.stub(), cell, "echo runs; exec sleep 1000");
  ASSERT_TRUE(running.ReadUntil("runs"));
  int ended = 0;
  while (ended < 400 && supervisor_.Python(cell, kChangePidOne).Exited(0)) {
    ++ended;
  }
  EXPECT_GT(ended, 200);
  EXPECT_LT(ended, 300);
  EXPECT_TRUE(EndedUnderIt(running.Finish()));
}

}  // namespace
}  // namespace odyssey::testing
