#include "agentd/bundle/bundle_tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "policy/dialect/bundle_tree.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey::bundle {
namespace {

constexpr int kTries = 20'000;
constexpr int kEnough = 3;

class BundleTreeTest : public ::testing::Test {
 protected:
  Status Copy() { return CopyBundleTree(source_.path(), to_); }

  fakes::TemporaryDirectory source_, target_;
  const std::string to_ = target_.path() + "/copy";
};

TEST_F(BundleTreeTest, CopiesFilesAndTheirExecutableBit) {
  source_.Write("a.txt", "a");
  chmod(source_.Write("bin/run", "#!/bin/sh\n").c_str(), 0700);
  source_.Write(".odyssey/blob", "x");
  ASSERT_TRUE(Copy().ok());
  Result<std::vector<BundleFile>> files = ListBundleFiles(to_);
  ASSERT_TRUE(files.ok());
  EXPECT_EQ(*files, (std::vector<BundleFile>{{"a.txt", false}, {"bin/run", true}}));
  struct stat info;
  ASSERT_EQ(stat((to_ + "/a.txt").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0644u);
}

TEST_F(BundleTreeTest, RefusesWhatIsNoFileOrDirectory) {
  source_.Write("a", "");
  ASSERT_EQ(symlink("/etc/passwd", (source_.path() + "/link").c_str()), 0);
  const Status link = Copy();
  EXPECT_EQ(link.code(), Code::kInvalidArgument);
  EXPECT_NE(link.message().find("link is a symbolic link"), std::string::npos) << link.message();
}

TEST_F(BundleTreeTest, RefusesAFifoWithoutWaitingForIt) {
  ASSERT_EQ(mkfifo((source_.path() + "/pipe").c_str(), 0600), 0);
  EXPECT_NE(Copy().message().find("special file"), std::string::npos);
}

// Nor for one that takes a file's place between the look at it and the opening.
TEST_F(BundleTreeTest, WaitsForNoFifoThatAFileBecomes) {
  const std::string file = source_.Write("file", "a");
  const std::string pipe = target_.path() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::atomic<bool> stop = false;
  std::thread renamer([&] {
    while (!stop) renameat2(AT_FDCWD, file.c_str(), AT_FDCWD, pipe.c_str(), RENAME_EXCHANGE);
  });
  constexpr unsigned kHangs = 60;
  alarm(kHangs);
  int caught = 0;
  for (int i = 0; i < kTries && caught < kEnough; ++i) {
    caught += Copy().message().find("has changed") != std::string::npos ? 1 : 0;
    std::filesystem::remove_all(to_);
  }
  alarm(0);
  stop = true;
  renamer.join();
  EXPECT_GT(caught, 0) << "it never became one at the right moment";
}

TEST_F(BundleTreeTest, RefusesTheReservedName) {
  source_.Write("mount/x", "");
  EXPECT_NE(Copy().message().find("reserved"), std::string::npos);
}

TEST_F(BundleTreeTest, RefusesTooMuch) {
  source_.Write("big", std::string(dialect::kMaxBundleFileBytes + 1, 'x'));
  EXPECT_NE(Copy().message().find("bytes in one file"), std::string::npos);
}

TEST_F(BundleTreeTest, RefusesTooDeep) {
  std::string path;
  for (int i = 0; i <= dialect::kMaxBundleDepth + 1; ++i) path += "d/";
  source_.Write(path + "x", "");
  EXPECT_NE(Copy().message().find("levels"), std::string::npos);
}

TEST_F(BundleTreeTest, DigestSeesPathsModesAndContent) {
  const auto digest = [](const fakes::TemporaryDirectory& directory) {
    Result<std::string> out = DigestBundleTree(directory.path());
    return out.ok() ? *out : out.status().ToString();
  };
  source_.Write("a", "1");
  const std::string first = digest(source_);
  EXPECT_EQ(first.size(), 64u);
  EXPECT_EQ(digest(source_), first);
  source_.Write("a", "2");
  const std::string second = digest(source_);
  EXPECT_NE(second, first);
  chmod((source_.path() + "/a").c_str(), 0755);
  const std::string third = digest(source_);
  EXPECT_NE(third, second);
  ASSERT_EQ(rename((source_.path() + "/a").c_str(), (source_.path() + "/b").c_str()), 0);
  EXPECT_NE(digest(source_), third);
}

}  // namespace
}  // namespace odyssey::bundle
