// What a cell made in directories of the host is found through the real supervisor: the file worker
// looks under the commands' own confinement.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/integration/git_fixture.h"

namespace odyssey::testing {
namespace {

namespace fs = std::filesystem;

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CellReviewTest : public GitFixture {
 protected:
  void File(const std::string& path) {
    fs::create_directories((workspace_ / path).parent_path());
    std::ofstream(workspace_ / path) << "of the host\n";
  }
  // Host paths relative to the workspace.
  std::vector<std::string> Review(const std::string& cell, bool news = false) {
    grpc::ClientContext context;
    v1::ReviewCellRequest request;
    request.set_cell_id(cell);
    request.set_news(news);
    v1::ReviewCellResponse response;
    const grpc::Status status = supervisor_.stub()->ReviewCell(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    std::vector<std::string> paths;
    for (const v1::Finding& finding : response.findings()) {
      EXPECT_FALSE(finding.reason().empty());
      paths.push_back(fs::relative(finding.host_path(), workspace_));
    }
    return paths;
  }
  // Made by a command of the cell's.
  void Make(const std::string& cell, const std::string& script) {
    const ExecResult done = supervisor_.Shell(cell, std::string(kIdentity) + script);
    EXPECT_TRUE(done.Exited(0)) << done.err;
  }
};

TEST_F(CellReviewTest, FindsWhatACellMadeAndNotWhatWasThere) {
  for (const char* path : {".mcp.json", "sub/.vscode/tasks.json"}) File(path);
  const std::string cell = supervisor_.Cell(Request());
  EXPECT_THAT(Review(cell), IsEmpty());
  Make(cell, "echo x > .envrc; mkdir -p a/b/.vscode; echo x > a/b/.vscode/tasks.json");
  Make(cell, "git init -q new; git init -q --bare mirror");
  Make(cell, "echo >> sub/.envrc");
  EXPECT_FALSE(supervisor_.Shell(cell, "echo >> sub/.vscode/tasks.json").Exited(0));
  EXPECT_THAT(Review(cell),
              ElementsAre(".envrc", "a/b/.vscode", "mirror", "new/.git", "sub/.envrc"));
}

TEST_F(CellReviewTest, FindsARebaseThatIsLeftHalfDoneInAGuardedRepository) {
  const std::string cell = supervisor_.Cell(Request());
  Make(cell,
       "echo two > file; git commit -qam second; git -c sequence.editor=: rebase -q -i "
       "--exec false HEAD~1 2> /dev/null; test -d .git/rebase-merge");
  EXPECT_THAT(Review(cell), ElementsAre(".git/rebase-merge"));
}

TEST_F(CellReviewTest, WhatTheHostChangesWhereTheCellCannotIsNoFinding) {
  File(".vscode/tasks.json");
  const std::string cell = supervisor_.Cell(Request());
  File(".vscode/tasks.json");
  EXPECT_THAT(Review(cell), IsEmpty());
}

TEST_F(CellReviewTest, FindsTheSameThroughAGuardOfDeniedNames) {
  File("sub/.vscode/tasks.json");
  v1::PrepareCellRequest request = Request();
  request.mutable_sandbox()->add_deny("**/*.pem");
  const std::string cell = supervisor_.Cell(request);
  EXPECT_THAT(Review(cell), IsEmpty());
  Make(cell, "echo x > .envrc; git init -q new");
  EXPECT_THAT(Review(cell), ElementsAre(".envrc", "new/.git"));
}

TEST_F(CellReviewTest, NewsIsToldOnce) {
  const std::string cell = supervisor_.Cell(Request());
  Make(cell, "echo x > .envrc");
  EXPECT_THAT(Review(cell, true), ElementsAre(".envrc"));
  EXPECT_THAT(Review(cell, true), IsEmpty());
  EXPECT_THAT(Review(cell), ElementsAre(".envrc"));
  Make(cell, "mkdir d; echo x > d/.envrc");
  EXPECT_THAT(Review(cell, true), ElementsAre("d/.envrc"));
}

TEST_F(CellReviewTest, AWorkspaceOfTheCellsOwnIsNotReviewedAndStartsNoWorker) {
  v1::PrepareCellRequest request = Request();
  request.clear_workspace();
  const std::string cell = supervisor_.Cell(request);
  Make(cell, "echo x > .envrc; git init -q new");
  EXPECT_THAT(Review(cell), IsEmpty());
  for (const pid_t pid : supervisor_.CellProcesses()) EXPECT_NE(CommandName(pid), "cell-tools");
}

}  // namespace
}  // namespace odyssey::testing
