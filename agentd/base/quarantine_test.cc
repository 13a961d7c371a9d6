#include "agentd/base/quarantine.h"

#include <gtest/gtest.h>

#include "tests/fakes/temporary_directory.h"

namespace odyssey::agent {
namespace {

TEST(QuarantineTest, NamesWhatWasSetAsideAlone) {
  fakes::TemporaryDirectory directory;
  const std::string b = directory.Write("b.json.corrupt_1", "");
  const std::string a = directory.Write("a.turns.corrupt-7", "");
  directory.Write("c.json", "");
  EXPECT_EQ(QuarantinedIn(directory.path()), (std::vector<std::string>{a, b}));
  EXPECT_TRUE(QuarantinedIn(directory.path() + "/missing").empty());
}

}  // namespace
}  // namespace odyssey::agent
