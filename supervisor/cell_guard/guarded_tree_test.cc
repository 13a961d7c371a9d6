#include "supervisor/cell_guard/guarded_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>

#include <utility>

#include "tests/fakes/temporary_directory.h"

namespace odyssey::cell_guard {
namespace {

// The kernel asks for each name before it asks to do something with it, so that a covered one is
// refused there; each operation is refused by itself as well.
TEST(GuardedTreeTest, EachGateKnowsWhatIsCovered) {
  const fakes::TemporaryDirectory directory;
  for (const char* name : {".env", "plain"}) directory.Write(name, "text");
  GuardedTree tree{.root = UniqueFd(open(directory.path().c_str(), O_PATH | O_CLOEXEC))};
  tree.deny.push_back(std::move(*pattern::PathPattern::Parse("**/.env")));
  Place place;
  EXPECT_EQ(tree.Enter("/.env", &place), EACCES);
  EXPECT_EQ(tree.Enter("/d/.env", &place), EACCES);
  EXPECT_EQ(tree.Enter("/plain", &place), 0);
  EXPECT_EQ(place.name, "plain");
  EXPECT_EQ(tree.Enter("/", &place), 0);
}

}  // namespace
}  // namespace odyssey::cell_guard
