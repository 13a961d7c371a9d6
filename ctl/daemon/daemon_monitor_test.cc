#include "ctl/daemon/daemon_monitor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

namespace odyssey::ctl {
namespace {

DaemonSpec Shell(const std::string& name, const std::string& script) {
  return {.name = name,
          .argv = {"/bin/sh", "-c", script},
          .env = {"PATH=/usr/bin:/bin"},
          .uid = geteuid(),
          .gid = getegid()};
}

// A signalfd, and the signals of it given by hand.
class DaemonMonitorTest : public testing::Test {
 protected:
  void SetUp() override {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    ASSERT_EQ(sigprocmask(SIG_BLOCK, &set, nullptr), 0);
    signals_.reset(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  DaemonMonitor::Log Log() {
    return [this](const std::string& line) {
      log_.push_back(line);
      if (line == stop_at_) raise(SIGUSR2);
    };
  }
  bool Logged(const std::string& line) const {
    return std::find(log_.begin(), log_.end(), line) != log_.end();
  }
  UniqueFd signals_;
  std::vector<std::string> log_;
  std::string stop_at_;
};

// Ends on SIGTERM like a daemon: says so, and exits 0.
constexpr char kIdle[] = "sleep 100 & trap 'kill $!; echo bye >&2; exit 0' TERM; echo ready; wait";

TEST_F(DaemonMonitorTest, StartsInOrderAndStopsInReverse) {
  DaemonMonitor monitor({Shell("first", kIdle), Shell("second", kIdle)}, signals_.get(), Log());
  ASSERT_TRUE(monitor.StartAll().ok());
  monitor.StopAll();
  EXPECT_EQ(log_, (std::vector<std::string>{"second: bye", "first: bye"}));
}

TEST_F(DaemonMonitorTest, ASignalWhileItStopsIsPassedOn) {
  // Ends at the second SIGTERM, which comes when `first` is read: the trap for it is set before.
  DaemonMonitor monitor(
      {Shell("slow",
             "trap 'trap \"echo second >&2; exit 0\" TERM; echo first >&2' TERM; echo ready; "
             "while :; do sleep 0.05; done")},
      signals_.get(), Log());
  ASSERT_TRUE(monitor.StartAll().ok());
  stop_at_ = "slow: first";
  monitor.StopAll();
  EXPECT_EQ(log_, (std::vector<std::string>{"slow: first", "slow: second"}));
}

TEST_F(DaemonMonitorTest, KillsWhatDoesNotStopInItsTime) {
  DaemonSpec spec = Shell("stubborn", "trap '' TERM; echo ready; while :; do sleep 0.05; done");
  spec.stop_timeout = std::chrono::seconds(1);
  DaemonMonitor monitor({spec}, signals_.get(), Log());
  ASSERT_TRUE(monitor.StartAll().ok());
  monitor.StopAll();
  EXPECT_EQ(log_, std::vector<std::string>{"stubborn did not stop within 1 s; killed"});
}

TEST_F(DaemonMonitorTest, FailureBeforeReadyIsTheDaemonsLastWords) {
  DaemonMonitor monitor({Shell("broken", "echo '<3>broken: no space left' >&2; exit 3")},
                        signals_.get(), Log());
  const Status status = monitor.StartAll();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_EQ(status.message(), "broken ended before it was ready: exit code 3: no space left");
  monitor.StopAll();
}

TEST_F(DaemonMonitorTest, ProgramThatCannotRunIsNamed) {
  DaemonSpec spec = Shell("absent", "");
  spec.argv = {"/nonexistent/odyssey"};
  DaemonMonitor monitor({spec}, signals_.get(), Log());
  EXPECT_EQ(monitor.StartAll().message(),
            "execve for /nonexistent/odyssey: No such file or directory");
}

TEST_F(DaemonMonitorTest, DeadDaemonIsStartedAgain) {
  char directory[] = "/tmp/odyssey-monitor-XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  const std::string fifo = std::string(directory) + "/die";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  // The first one kills itself when it is told to; the second one finds no fifo and stays.
  const std::string script = "if [ -p " + fifo + " ]; then echo ready; read x <" + fifo +
                             "; rm -r " + directory + "; kill -9 $$; fi; " + kIdle;
  DaemonMonitor monitor({Shell("mortal", script)}, signals_.get(), Log());
  stop_at_ = "mortal is ready again";
  ASSERT_TRUE(monitor.StartAll().ok());
  const UniqueFd die(open(fifo.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(write(die.get(), "\n", 1), 1);
  EXPECT_TRUE(monitor.Keep().ok());
  monitor.StopAll();
  EXPECT_TRUE(Logged("mortal died (signal 9 (Killed)); starting it again in 100 ms"));
  EXPECT_TRUE(Logged("mortal is ready again"));
}

TEST_F(DaemonMonitorTest, SignalEndsTheStart) {
  DaemonMonitor monitor({Shell("slow", "echo starting >&2; exec sleep 100")}, signals_.get(),
                        Log());
  stop_at_ = "slow: starting";
  EXPECT_EQ(monitor.StartAll().code(), Code::kCancelled);
  monitor.StopAll();
}

TEST(LineBufferTest, CutsEndlessLines) {
  std::vector<size_t> lengths;
  const auto line = [&](const std::string& text) { lengths.push_back(text.size()); };
  LineBuffer buffer;
  buffer.Append(std::string(LineBuffer::kMaxLine + 5, 'x'), line);
  buffer.Append("\nlast", line);
  buffer.Finish(line);
  EXPECT_EQ(lengths, (std::vector<size_t>{LineBuffer::kMaxLine, 5, 4}));
}

}  // namespace
}  // namespace odyssey::ctl
