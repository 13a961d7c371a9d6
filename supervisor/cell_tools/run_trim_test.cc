#include "supervisor/cell_tools/run_trim.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <optional>

#include "supervisor/cell_tools/test_tree.h"
#include "supervisor/wire/cell_wire.h"

namespace odyssey::cell_tools {
namespace {

namespace fs = std::filesystem;

class RunTrimTest : public TestTree {
 protected:
  void SetUp() override {
    TestTree::SetUp();
    fs::create_directory(runs());
    tree_.emplace(runs());
  }
  std::string runs() const { return cell() + "/runs"; }
  std::string Run(uint64_t number) const { return runs() + "/" + cell::RunName(number); }
  // Runs 100, 101, …: newer ones have larger numbers.
  void Make(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) ASSERT_TRUE(tree_->Make(cell::RunName(100 + i)).ok());
  }
  tool::Response Trim(std::vector<std::string> names = {}) {
    return Perform(MakeReach(), {.op = tool::Op::kTrim, .names = std::move(names)});
  }
  // Until nothing is left to do, as rpc does; how often it took.
  int TrimAll() {
    int rounds = 1;
    while (Trim().truncated && rounds < 1000) ++rounds;
    return rounds;
  }

  std::optional<RunTree> tree_;
};

TEST_F(RunTrimTest, KeepsTheNewestAndThoseInUse) {
  Make(70);
  Put(Run(101) + "/outbox/f", "in use");
  Put(runs() + "/notes", "the cell's own");
  ASSERT_TRUE(tree_->Make(cell::SpareRunName(1)).ok());
  const tool::Response response = Trim({cell::RunName(101)});
  EXPECT_FALSE(response.truncated);
  EXPECT_EQ(response.runs, 65u);
  EXPECT_TRUE(fs::exists(runs() + "/" + cell::SpareRunName(1)));
  EXPECT_FALSE(fs::exists(Run(100)));
  EXPECT_TRUE(fs::exists(Run(101) + "/outbox/f"));
  for (uint64_t i = 2; i < 6; ++i) EXPECT_FALSE(fs::exists(Run(100 + i))) << i;
  for (uint64_t i = 6; i < 70; ++i) EXPECT_TRUE(fs::exists(Run(100 + i))) << i;
  EXPECT_TRUE(fs::exists(runs() + "/notes"));
}

TEST_F(RunTrimTest, RemovesWhatIsHardToRemoveAndFollowsNoLink) {
  Make(65);
  Put(outside() + "/f", "untouched");
  fs::create_directory_symlink(outside(), Run(100) + "/outbox/link");
  ASSERT_EQ(mkfifo((Run(100) + "/outbox/fifo").c_str(), 0), 0);
  fs::create_directories(Run(100) + "/outbox/a/b");
  Put(Run(100) + "/outbox/a/b/f", "x");
  fs::permissions(Run(100) + "/outbox/a/b", fs::perms::none);
  fs::permissions(Run(100) + "/outbox/a", fs::perms::none);
  TrimAll();
  EXPECT_FALSE(fs::exists(Run(100)));
  EXPECT_EQ(Get(outside() + "/f"), "untouched");
}

TEST_F(RunTrimTest, ALinkInPlaceOfARunIsRemovedAlone) {
  Make(64);
  Put(outside() + "/f", "untouched");
  fs::create_directory_symlink(outside(), Run(1));
  TrimAll();
  EXPECT_FALSE(fs::is_symlink(fs::symlink_status(Run(1))));
  EXPECT_EQ(Get(outside() + "/f"), "untouched");
}

TEST_F(RunTrimTest, OneRequestDoesABoundedAmount) {
  Make(65);
  for (int i = 0; i < 5000; ++i) Put(Run(100) + "/outbox/f" + std::to_string(i), "");
  EXPECT_TRUE(Trim().truncated);
  EXPECT_TRUE(fs::exists(Run(100)));
  EXPECT_GT(TrimAll(), 1);
  EXPECT_FALSE(fs::exists(Run(100)));
}

TEST_F(RunTrimTest, RemovesATreeDeeperThanItGoesAtOnce) {
  Make(65);
  UniqueFd at(open((Run(100) + "/work").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (int depth = 0; depth < 500; ++depth) {
    ASSERT_EQ(mkdirat(at.get(), "d", 0700), 0);
    at.reset(openat(at.get(), "d", O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  TrimAll();
  EXPECT_EQ(tree_->Count(1000), tool::kKeptRuns);
}

}  // namespace
}  // namespace odyssey::cell_tools
