#include "agentd/package/bundle_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "policy/dialect/bundle_tree.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey::package {
namespace {

constexpr int kTries = 20'000;
constexpr int kEnough = 3;

class BundleFilesTest : public ::testing::Test {
 protected:
  Result<std::vector<BundleFile>> List() {
    root_.reset(open(source_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return ListBundleFiles(root_.get(), source_.path());
  }

  fakes::TemporaryDirectory source_, other_;
  UniqueFd root_;
};

TEST_F(BundleFilesTest, ListsFilesSortedWithTheirExecutableBit) {
  source_.Write("a/z.txt", "a");
  source_.Write("a.txt", "aa");
  chmod(source_.Write("bin/run", "#!/bin/sh\n").c_str(), 0700);
  source_.Write(".odyssey/blob", "x");
  const Result<std::vector<BundleFile>> files = List();
  ASSERT_TRUE(files.ok()) << files.status().message();
  EXPECT_EQ(*files, (std::vector<BundleFile>{
                        {"a.txt", false, 2}, {"a/z.txt", false, 1}, {"bin/run", true, 10}}));
}

TEST_F(BundleFilesTest, RefusesWhatIsNoFileOrDirectory) {
  source_.Write("resources/a", "");
  ASSERT_EQ(symlink("/etc/hostname", (source_.path() + "/resources/leak").c_str()), 0);
  const Status link = List().status();
  EXPECT_EQ(link.code(), Code::kInvalidArgument);
  EXPECT_NE(link.message().find("resources/leak is a symbolic link"), std::string::npos)
      << link.message();
}

TEST_F(BundleFilesTest, RefusesAFifoWithoutWaitingForIt) {
  ASSERT_EQ(mkfifo((source_.path() + "/pipe").c_str(), 0600), 0);
  EXPECT_NE(List().status().message().find("special file"), std::string::npos);
}

// Nor for one that takes a file's place between the look at it and the opening.
TEST_F(BundleFilesTest, WaitsForNoFifoThatAFileBecomes) {
  const std::string file = source_.Write("file", "a");
  const std::string pipe = other_.path() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  ASSERT_TRUE(List().ok());
  std::atomic<bool> stop = false;
  std::thread renamer([&] {
    while (!stop) renameat2(AT_FDCWD, file.c_str(), AT_FDCWD, pipe.c_str(), RENAME_EXCHANGE);
  });
  constexpr unsigned kHangs = 60;
  alarm(kHangs);
  int caught = 0;
  for (int i = 0; i < kTries && caught < kEnough; ++i) {
    const Status status = OpenBundleFile(root_.get(), {"file", false, 1}, "x").status();
    caught += status.message().find("has changed") != std::string::npos ? 1 : 0;
  }
  alarm(0);
  stop = true;
  renamer.join();
  EXPECT_GT(caught, 0) << "it never became one at the right moment";
}

TEST_F(BundleFilesTest, FollowsNoLinkThatADirectoryBecomes) {
  source_.Write("d/file", "a");
  other_.Write("file", "b");
  ASSERT_TRUE(List().ok());
  ASSERT_EQ(rename((source_.path() + "/d").c_str(), (source_.path() + "/e").c_str()), 0);
  ASSERT_EQ(symlink(other_.path().c_str(), (source_.path() + "/d").c_str()), 0);
  EXPECT_NE(
      OpenBundleFile(root_.get(), {"d/file", false, 1}, "x").status().message().find("has changed"),
      std::string::npos);
}

TEST_F(BundleFilesTest, RefusesReservedNames) {
  for (const char* name : {"mount/x", "blobs/x", "index.json", "oci-layout", "bundle.json"}) {
    fakes::TemporaryDirectory source;
    source.Write(name, "");
    const UniqueFd root(open(source.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const Status status = ListBundleFiles(root.get(), source.path()).status();
    EXPECT_NE(status.message().find("reserved"), std::string::npos) << name;
  }
}

TEST_F(BundleFilesTest, RefusesTooMuch) {
  const std::string big = source_.Write("big", "");
  ASSERT_EQ(truncate(big.c_str(), static_cast<off_t>(dialect::kMaxBundleFileBytes + 1)), 0);
  EXPECT_NE(List().status().message().find("bytes in one file"), std::string::npos);
}

TEST_F(BundleFilesTest, RefusesTooDeep) {
  std::string path;
  for (int i = 0; i <= dialect::kMaxBundleDepth + 1; ++i) path += "d/";
  source_.Write(path + "x", "");
  EXPECT_NE(List().status().message().find("levels"), std::string::npos);
}

}  // namespace
}  // namespace odyssey::package
