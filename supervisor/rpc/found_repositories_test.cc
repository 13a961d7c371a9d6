#include "supervisor/rpc/found_repositories.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace odyssey::supervisor {
namespace {

using cell::Repository;
using cell::RepositoryState;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FoundRepositoriesTest : public ::testing::Test {
 protected:
  FoundRepositoriesTest() {
    compiled_.confinement.searched = {"/workspace"};
    compiled_.confinement.guards = {{.path = "/d/x.git", .git = {""}}};
  }
  void Explain(const Repository& repository) { ExplainRepository(repository, &compiled_); }

  compile::Compiled compiled_;
};

TEST_F(FoundRepositoriesTest, SaysOnceWhatWasFoundAndCountsItAsGuarded) {
  Explain({"/workspace/lib/.git", RepositoryState::kGuarded});
  Explain({"/workspace/lib/.git", RepositoryState::kGuarded});
  EXPECT_THAT(compiled_.explanation, ElementsAre(HasSubstr("/workspace/lib/.git: guarded")));
  ASSERT_EQ(compiled_.confinement.guards.size(), 2u);
  EXPECT_EQ(compiled_.confinement.guards[1].path, "/workspace/lib/.git");
}

TEST_F(FoundRepositoriesTest, SaysWhatIsNotGuarded) {
  Explain({"/workspace", RepositoryState::kUnfinished});
  Explain({"/workspace/a/.git", RepositoryState::kOpen});
  Explain({"/d/x.git", RepositoryState::kUnguarded});
  EXPECT_THAT(compiled_.explanation, ElementsAre(HasSubstr("/workspace: NOT searched"),
                                                 HasSubstr("/workspace/a/.git: NOT protected"),
                                                 HasSubstr("/d/x.git: NOT guarded")));
  EXPECT_EQ(compiled_.confinement.guards.size(), 1u);
}

TEST_F(FoundRepositoriesTest, SaysWhatIsReadOnlyAndWhy) {
  Explain({"/workspace/sub/.git", RepositoryState::kReadOnly});
  Explain({"/workspace/b/.vscode", RepositoryState::kReadOnly});
  EXPECT_THAT(
      compiled_.explanation,
      ElementsAre(HasSubstr("/workspace/sub/.git: read-only: leads to a repository"),
                  HasSubstr("/workspace/b/.vscode: read-only: programs of the host obey it")));
  EXPECT_EQ(compiled_.confinement.guards.size(), 2u);
  EXPECT_THAT(compiled_.kept_names, ElementsAre("/workspace/b/.vscode"));
}

TEST_F(FoundRepositoriesTest, SaysWhichEndpointsOfTheHostAreOutOfReach) {
  Explain({"/workspace/daemon.sock", RepositoryState::kCovered});
  Explain({"/elsewhere/daemon.sock", RepositoryState::kCovered});
  EXPECT_THAT(compiled_.explanation,
              ElementsAre(HasSubstr("/workspace/daemon.sock: out of reach")));
  EXPECT_THAT(compiled_.covered, ElementsAre("/workspace/daemon.sock"));
  EXPECT_EQ(compiled_.confinement.guards.size(), 1u);
}

TEST_F(FoundRepositoriesTest, SaysWhatWasCoveredSinceTheCellIsReady) {
  Explain({"/workspace/first.sock", RepositoryState::kCovered});
  std::vector<Repository> since;
  const auto note = [&](const char* path, RepositoryState state) {
    NoteSince({path, state}, compiled_, &since);
  };
  note("/workspace/late.sock", RepositoryState::kCovered);
  note("/workspace/first.sock", RepositoryState::kCovered);
  note("/workspace/late.sock", RepositoryState::kCovered);
  note("/workspace", RepositoryState::kUnwatched);
  note("/elsewhere/late.sock", RepositoryState::kCovered);
  note("/workspace/late/.git", RepositoryState::kGuarded);
  EXPECT_THAT(CoveredIn(since), ElementsAre("/workspace/late.sock", "/workspace/first.sock"));
  EXPECT_THAT(ExplanationWith(since, compiled_),
              ElementsAre(HasSubstr("/workspace/first.sock: out of reach"),
                          HasSubstr("/workspace/late.sock: out of reach"),
                          HasSubstr("/workspace: NOT watched")));
  for (int i = 0; i < 1000; ++i) {
    note(("/workspace/" + std::to_string(i)).c_str(), RepositoryState::kCovered);
  }
  EXPECT_EQ(since.size(), kMaxSaidSince);
  EXPECT_EQ(since.back().path, "/workspace/999");
  EXPECT_THAT(ExplanationWith(since, compiled_), Contains(HasSubstr("/workspace: NOT watched")));
}

TEST_F(FoundRepositoriesTest, SaysNothingOfWhatTheCellWasNotToLookAt) {
  Explain({"/", RepositoryState::kGuarded});
  Explain({"/workspace2/.git", RepositoryState::kGuarded});
  Explain({"/d/other.git", RepositoryState::kUnguarded});
  EXPECT_THAT(compiled_.explanation, IsEmpty());
}

TEST_F(FoundRepositoriesTest, NamesThatAreNoTextBecomeText) {
  Explain({"/workspace/\xff/.git", RepositoryState::kGuarded});
  EXPECT_THAT(compiled_.explanation, ElementsAre(HasSubstr("/workspace/\xef\xbf\xbd/.git")));
}

}  // namespace
}  // namespace odyssey::supervisor
