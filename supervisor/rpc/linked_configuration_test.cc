#include "supervisor/rpc/linked_configuration.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "supervisor/rpc/host_state.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey::supervisor {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

constexpr timespec kLongAgo{1'000'000'000, 5};

class LinkedConfigurationTest : public testing::Test {
 protected:
  LinkedConfigurationTest() {
    for (const char* name : {"one", "two"}) {
      File("etc/tool/" + std::string(name));
      Link("usr/share/" + std::string(name), "/etc/tool/" + std::string(name));
    }
    File("etc/other/three");
    Link("usr/share/three", "/etc/other/three");
    Settle();
  }

  std::string Path(const std::string& name) const { return root_.path() + "/" + name; }
  void File(const std::string& name) { root_.Write(name, "content\n"); }
  void Link(const std::string& name, const std::string& text) {
    fs::create_directories(fs::path(Path(name)).parent_path());
    fs::create_symlink(text, Path(name));
  }
  void SetChanged(const std::string& name, const timespec& when) {
    const timespec times[] = {when, when};
    ASSERT_EQ(utimensat(AT_FDCWD, Path(name).c_str(), times, 0), 0);
  }
  void Settle() {
    for (const char* name : {"etc", "etc/tool", "etc/other"}) SetChanged(name, kLongAgo);
  }
  static std::vector<std::string> PathsOf(const LinkedConfiguration::Shown& shown) {
    std::vector<std::string> out;
    for (const compile::SystemEntry& entry : shown.entries) out.push_back(entry.path);
    return out;
  }

  const fakes::TemporaryDirectory root_;
};

TEST_F(LinkedConfigurationTest, WhatHasNotChangedIsTheSame) {
  LinkedConfiguration linked(root_.path());
  const auto shown = linked.Get();
  EXPECT_THAT(PathsOf(*shown), ElementsAre("/etc/other/three", "/etc/tool/one", "/etc/tool/two"));
  EXPECT_EQ(linked.Get(), shown);
}

TEST_F(LinkedConfigurationTest, AnEntryThatIsRemovedIsLeftOutUntilItIsThereAgain) {
  LinkedConfiguration linked(root_.path());
  const auto before = linked.Get();
  fs::remove(Path("etc/tool/one"));
  const auto after = linked.Get();
  EXPECT_THAT(PathsOf(*after), ElementsAre("/etc/other/three", "/etc/tool/two"));
  EXPECT_NE(after, before);
  File("etc/tool/one");
  EXPECT_EQ(PathsOf(*linked.Get()), PathsOf(*before));
}

TEST_F(LinkedConfigurationTest, AnEntryThatIsReplacedIsAnother) {
  LinkedConfiguration linked(root_.path());
  const auto before = linked.Get();
  File("etc/tool/new");
  fs::rename(Path("etc/tool/new"), Path("etc/tool/one"));
  const auto after = linked.Get();
  EXPECT_EQ(PathsOf(*after), PathsOf(*before));
  EXPECT_NE(after, before);
}

TEST_F(LinkedConfigurationTest, AFileThatIsALinkNowIsLeftOut) {
  LinkedConfiguration linked(root_.path());
  (void)linked.Get();
  fs::remove(Path("etc/tool/one"));
  Link("etc/tool/one", "/etc/shadow");
  EXPECT_THAT(PathsOf(*linked.Get()), ElementsAre("/etc/other/three", "/etc/tool/two"));
}

TEST_F(LinkedConfigurationTest, ADirectoryThatIsReplacedHasOtherEntries) {
  LinkedConfiguration linked(root_.path());
  const auto before = linked.Get();
  fs::rename(Path("etc/other"), Path("etc/moved"));
  File("etc/other/three");
  Settle();
  const auto after = linked.Get();
  EXPECT_EQ(PathsOf(*after), PathsOf(*before));
  EXPECT_NE(after, before);
}

TEST_F(LinkedConfigurationTest, WhatIsNoEntryMakesNoDifference) {
  LinkedConfiguration linked(root_.path());
  const auto before = linked.Get();
  File("etc/tool/unlinked");
  EXPECT_EQ(linked.Get(), before);
}

TEST_F(LinkedConfigurationTest, ANameThatIsNewInEtcIsLookedFor) {
  LinkedConfiguration linked(root_.path());
  (void)linked.Get();
  File("etc/package/four");
  Link("usr/share/four", "/etc/package/four");
  EXPECT_THAT(PathsOf(*linked.Get()), ElementsAre("/etc/other/three", "/etc/package/four",
                                                  "/etc/tool/one", "/etc/tool/two"));
}

// Two changes within a tick of the file system's clock have the same time.
TEST_F(LinkedConfigurationTest, ASecondChangeAtTheSameTimeIsSeen) {
  LinkedConfiguration linked(root_.path());
  (void)linked.Get();
  fs::remove(Path("etc/tool/one"));
  (void)linked.Get();
  struct stat info {};
  ASSERT_EQ(stat(Path("etc/tool").c_str(), &info), 0);
  fs::remove(Path("etc/tool/two"));
  SetChanged("etc/tool", info.st_mtim);
  EXPECT_THAT(PathsOf(*linked.Get()), ElementsAre("/etc/other/three"));
}

TEST_F(LinkedConfigurationTest, ACellThatShowsWhatIsReplacedIsOfAnotherHost) {
  LinkedConfiguration linked(root_.path());
  MountTable mounts;
  const std::string program = root_.Write("program", "");
  plan::Plan plan;
  for (const std::string& source : {std::string("/etc/tool/one"), program}) {
    plan.entries.push_back({.kind = plan::EntryKind::kHostTree,
                            .source = source,
                            .ownership = plan::Ownership::kUnmapped});
  }
  const HostState before = LookAtHost(plan, &linked, &mounts);
  EXPECT_EQ(before.system.size(), 1u);  // the other one is linked
  EXPECT_EQ(LookAtHost(plan, &linked, &mounts), before);
  File("etc/tool/new");
  fs::rename(Path("etc/tool/new"), Path("etc/tool/one"));
  const HostState after = LookAtHost(plan, &linked, &mounts);
  EXPECT_NE(after, before);
  fs::remove(program);
  EXPECT_NE(LookAtHost(plan, &linked, &mounts), after);
}

}  // namespace
}  // namespace odyssey::supervisor
