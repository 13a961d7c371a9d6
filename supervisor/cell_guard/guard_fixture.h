#ifndef ODYSSEY_SUPERVISOR_CELL_GUARD_GUARD_FIXTURE_H_
#define ODYSSEY_SUPERVISOR_CELL_GUARD_GUARD_FIXTURE_H_

// A guard that serves a real mount, in a user and mount namespace of the test's own, and both sides
// of it: what the host has, and what a cell sees.

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "supervisor/cell_guard/guard.h"
#include "tests/testing/machine.h"

namespace odyssey::cell_guard {

class GuardFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) {
      ASSERT_EQ(getenv("ODYSSEY_MUST_RUN"), nullptr);  // NOLINT(concurrency-mt-unsafe)
      GTEST_SKIP() << "needs root";
    }
    // That cells with denied names are refused then is deny_test's to see.
    if (!testing::WhyNoFuse().empty()) {
      GTEST_SKIP() << "this machine has no FUSE: " << testing::WhyNoFuse();
    }
    std::string path = (std::filesystem::temp_directory_path() / "odyssey-guard-XXXXXX").string();
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    directory_ = path;
    ASSERT_NO_FATAL_FAILURE(EnterNamespaces());
    for (const char* name : {"host", "cell", "other"}) {
      std::filesystem::create_directory(path + "/" + name);
    }
  }

  void TearDown() override {
    for (const auto& [guard, shown] : guards_) {
      EXPECT_EQ(umount2(shown.c_str(), MNT_DETACH), 0);
      int status = 0;
      EXPECT_EQ(waitpid(guard, &status, 0), guard);
      EXPECT_EQ(status, 0) << "the guard has not served to the end";
    }
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }

  // Serves host/ as cell/.
  void Start(const std::vector<std::string>& deny) { StartAt(Cell(""), deny); }
  // Serves it as other/ too, as another cell has it.
  void StartOther(const std::vector<std::string>& deny) { StartAt(Outside("other/"), deny); }

  // Of the guard that was started last.
  void LimitOpenFiles(rlim_t most) const {
    const rlimit limit{most, most};
    ASSERT_EQ(prlimit(guards_.back().first, RLIMIT_NOFILE, &limit, nullptr), 0) << errno;
  }

  // Paths on either side; "" is the tree.
  std::string Host(const std::string& path) const { return directory_ + "/host/" + path; }
  std::string Cell(const std::string& path) const { return directory_ + "/cell/" + path; }
  std::string Outside(const std::string& name) const { return directory_ + "/" + name; }

  // What the host does, with whatever is missing above.
  void Put(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(Host(path)).parent_path());
    std::ofstream(Host(path)) << text;
  }
  void Move(const std::string& from, const std::string& to) const {
    std::filesystem::create_directories(std::filesystem::path(Host(to)).parent_path());
    ASSERT_EQ(rename(Host(from).c_str(), Host(to).c_str()), 0) << from << " " << to << errno;
  }
  std::string Text(const std::string& path) const { return TextOf(Host(path)); }
  static std::string TextOf(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  // 0, or the errno.
  static int Answer(long result) { return result < 0 ? errno : 0; }

 private:
  void StartAt(const std::string& shown, const std::vector<std::string>& deny) {
    UniqueFd device = testing::OpenFuse();
    ASSERT_TRUE(device) << errno;
    const std::string options =
        "fd=" + std::to_string(device.get()) + ",rootmode=40000,user_id=0,group_id=0";
    ASSERT_EQ(mount("guard", shown.c_str(), "fuse", MS_NOSUID | MS_NODEV, options.c_str()), 0)
        << errno;
    const pid_t guard = fork();
    if (guard == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      _exit(BeGuard(std::move(device), deny) ? 0 : 1);
    }
    guards_.emplace_back(guard, shown);
    struct stat info;
    ASSERT_EQ(stat(shown.c_str(), &info), 0);
  }

  static void WriteMap(const std::string& name, const std::string& text) {
    const UniqueFd file(open(("/proc/self/" + name).c_str(), O_WRONLY | O_CLOEXEC));
    ASSERT_EQ(write(file.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()))
        << name << ": " << errno;
  }

  // Once for a process; they end with it.
  static void EnterNamespaces() {
    static bool entered = false;
    if (std::exchange(entered, true)) return;
    ASSERT_EQ(unshare(CLONE_NEWUSER | CLONE_NEWNS), 0) << errno;
    WriteMap("setgroups", "deny");
    WriteMap("uid_map", "0 0 1");
    WriteMap("gid_map", "0 0 1");
    ASSERT_EQ(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0) << errno;
  }

  // Without capabilities, as in a cell.
  bool BeGuard(UniqueFd device, const std::vector<std::string>& deny) const {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct none[2]{};
    if (syscall(SYS_capset, &header, none) != 0) return false;
    std::vector<pattern::PathPattern> patterns;
    for (const std::string& text : deny) {
      auto pattern = pattern::PathPattern::Parse(text);
      if (!pattern.ok()) return false;
      patterns.push_back(std::move(*pattern));
    }
    UniqueFd root(open(Host("").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    std::vector<GuardedTree> trees;
    trees.push_back(
        {.root = std::move(root), .deny = std::move(patterns), .fuse = std::move(device)});
    return Serve(std::move(trees)).ok();
  }

  std::string directory_;
  std::vector<std::pair<pid_t, std::string>> guards_;  // and where each serves
};

}  // namespace odyssey::cell_guard

#endif  // ODYSSEY_SUPERVISOR_CELL_GUARD_GUARD_FIXTURE_H_
