#include "ctl/doctor/probe_snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace odyssey::ctl {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

namespace fs = std::filesystem;

class ProbeSnapshotTest : public ::testing::Test {
 protected:
  ProbeSnapshotTest() {
    if (mkdtemp(directory_.data()) == nullptr) abort();
    Write("a", "text");
    Write("b", "text");
    before_ = TakeSnapshot({directory_});
  }
  ~ProbeSnapshotTest() override { fs::remove_all(directory_); }

  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ + "/" + name) << text;
  }
  std::vector<std::string> Changes() { return Differences(before_, TakeSnapshot({directory_})); }

  std::string directory_ = ::testing::TempDir() + "snapshot-XXXXXX";
  Snapshot before_;
};

TEST_F(ProbeSnapshotTest, SeesNothingWhereNothingChanged) { EXPECT_THAT(Changes(), IsEmpty()); }

TEST_F(ProbeSnapshotTest, SeesContentModesNamesAndLinks) {
  Write("a", "TEXT");
  EXPECT_THAT(Changes(), ElementsAre(directory_ + "/a changed"));
  before_ = TakeSnapshot({directory_});
  chmod((directory_ + "/b").c_str(), 0600);
  EXPECT_THAT(Changes(), ElementsAre(directory_ + "/b changed"));
  before_ = TakeSnapshot({directory_});
  fs::rename(directory_ + "/a", directory_ + "/c");
  EXPECT_THAT(Changes(), ElementsAre(directory_ + "/a is gone", directory_ + "/c is new"));
  before_ = TakeSnapshot({directory_});
  fs::create_hard_link(directory_ + "/c",
                       directory_ + "/../" + fs::path(directory_).filename().string() + ".link");
  EXPECT_THAT(Changes(), ElementsAre(directory_ + "/c changed"));
  fs::remove(directory_ + ".link");
}

TEST_F(ProbeSnapshotTest, FindsFilesThatMakeOneSomebodyElse) {
  EXPECT_THAT(DangerousFiles(directory_, ""), IsEmpty());
  chmod((directory_ + "/a").c_str(), 04755);
  chmod((directory_ + "/b").c_str(), 02755);
  EXPECT_THAT(
      DangerousFiles(directory_, ""),
      UnorderedElementsAre(directory_ + "/a is set-user-id", directory_ + "/b is set-group-id"));
  EXPECT_THAT(DangerousFiles(directory_, directory_ + "/a"),
              ElementsAre(directory_ + "/b is set-group-id"));
}

}  // namespace
}  // namespace odyssey::ctl
