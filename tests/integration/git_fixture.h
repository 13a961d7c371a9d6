#ifndef ODYSSEY_TESTS_INTEGRATION_GIT_FIXTURE_H_
#define ODYSSEY_TESTS_INTEGRATION_GIT_FIXTURE_H_

// A repository of the host that cells may write to, git on the host, and what tells whether that
// ran anything of a cell's.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/integration/cell_probe.h"

namespace odyssey::testing {

inline const std::vector<std::string> kRefusals = {"EROFS", "EBUSY", "EPERM", "EACCES",
                                                   "ENOTEMPTY"};
inline constexpr char kIdentity[] =
    "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b\n";

class GitFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(workspace_);
    std::ofstream(payload_) << "#!/bin/sh\ntouch " << marker_.string() << "\n";
    std::filesystem::permissions(payload_, std::filesystem::perms::all);
    // Whatever the machine's own configuration says.
    ASSERT_EQ(setenv("GIT_CONFIG_SYSTEM", "/dev/null", 1), 0);  // NOLINT(concurrency-mt-unsafe)
    ASSERT_EQ(setenv("GIT_CONFIG_GLOBAL", (supervisor_.directory() + "/gitconfig").c_str(), 1), 0);
    std::ofstream(supervisor_.directory() + "/gitconfig") << "[safe]\n\tdirectory = *\n";
    ASSERT_EQ(
        Host("git init -q -b main . && echo one > file && git add . && git commit -q -m first"), 0);
  }

  int Host(const std::string& script) const {
    const std::string line = "cd " + workspace_.string() + " && { " + kIdentity + script + "\n}";
    return system(line.c_str());  // NOLINT(concurrency-mt-unsafe)
  }
  // What git on the host does day by day, in a directory of the workspace. The marker is there if
  // anything of the cell's ran.
  void ExpectHostUntouched(const std::string& way, const std::string& in = ".") {
    const auto git = [&](const std::string& arguments) {
      return Host("git -C " + in + " " + arguments + " > " + log_.string() + " 2>&1");
    };
    EXPECT_EQ(git("status"), 0) << way << ": " << Slurp(log_);
    EXPECT_EQ(git("commit -q --allow-empty -m host"), 0) << way << ": " << Slurp(log_);
    EXPECT_EQ(Host("cd " + in + "; test \"$(git rev-parse --git-dir)\" = .git"), 0) << way;
    EXPECT_FALSE(std::filesystem::exists(marker_))
        << way << ": the host ran what the cell put there";
    std::filesystem::remove(marker_);
  }

  v1::PrepareCellRequest Request() const {
    v1::PrepareCellRequest request = SupervisorHarness::Request("git");
    request.set_workspace(workspace_);
    return request;
  }
  // A repository in all but its name, whose configuration runs the payload.
  std::string Evil(const std::string& directory) const {
    return "mkdir -p " + directory + "/refs " + directory + "/objects " + directory +
           "/hooks; echo 'ref: refs/heads/main' > " + directory + "/HEAD; cat > " + directory +
           "/config <<'E'\n[core]\nrepositoryformatversion = 0\nbare = false\nworktree = " +
           workspace_.string() + "\nfsmonitor = " + payload_.string() + "\nE\n";
  }
  // How many lines of the cell's explanation begin so.
  size_t Says(const std::string& cell, const std::string& beginning) {
    const auto lines = ExplanationOf(&supervisor_, cell);
    const auto begins = [&](const std::string& line) { return line.rfind(beginning, 0) == 0; };
    return static_cast<size_t>(std::count_if(lines.begin(), lines.end(), begins));
  }
  size_t Guards() {
    const auto processes = supervisor_.CellProcesses();
    return static_cast<size_t>(std::count_if(processes.begin(), processes.end(), [](pid_t pid) {
      return CommandName(pid) == "cell-guard";
    }));
  }

  SupervisorHarness supervisor_;
  const std::filesystem::path workspace_ = supervisor_.directory() + "/w";
  const std::filesystem::path marker_ = supervisor_.directory() + "/marker";
  const std::filesystem::path log_ = supervisor_.directory() + "/log";
  const std::filesystem::path payload_ = supervisor_.directory() + "/payload";
};

}  // namespace odyssey::testing

#endif  // ODYSSEY_TESTS_INTEGRATION_GIT_FIXTURE_H_
