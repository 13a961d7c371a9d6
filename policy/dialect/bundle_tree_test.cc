#include "policy/dialect/bundle_tree.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/fakes/temporary_directory.h"

namespace odyssey::dialect {
namespace {

class BundleTreeTest : public ::testing::Test {
 protected:
  std::vector<std::string> Messages() const {
    std::vector<std::string> out;
    for (const Problem& problem : CheckBundleTree(bundle_.path())) {
      EXPECT_EQ(problem.file, bundle_.path());
      out.push_back(problem.message);
    }
    return out;
  }
  std::string Entry(const std::string& said) const {
    return "bundle entry " + bundle_.path() + said;
  }

  fakes::TemporaryDirectory bundle_;
};

TEST_F(BundleTreeTest, FilesAndDirectoriesAreGood) {
  bundle_.Write("a/b/c", "x");
  EXPECT_EQ(Messages(), std::vector<std::string>());
}

TEST_F(BundleTreeTest, EveryEntryThatIsNeitherIsTold) {
  bundle_.Write("agent.yaml", "x");
  bundle_.Write("a/file", "x");
  ASSERT_EQ(symlink("agent.yaml", (bundle_.path() + "/link").c_str()), 0);
  ASSERT_EQ(symlink("/etc", (bundle_.path() + "/a/etc").c_str()), 0);
  ASSERT_EQ(mkfifo((bundle_.path() + "/pipe").c_str(), 0600), 0);
  const std::string end = "; a bundle holds regular files and directories";
  EXPECT_EQ(Messages(), (std::vector<std::string>{Entry("/a/etc is a symbolic link") + end,
                                                  Entry("/link is a symbolic link") + end,
                                                  Entry("/pipe is a special file") + end}));
}

TEST_F(BundleTreeTest, WhatIsLeftOutOfTheCopyMayBeAnything) {
  bundle_.Write(".odyssey/file", "x");
  ASSERT_EQ(symlink("/etc", (bundle_.path() + "/.odyssey/etc").c_str()), 0);
  EXPECT_EQ(Messages(), std::vector<std::string>());
}

TEST_F(BundleTreeTest, NamesAndSizesCount) {
  bundle_.Write("mount/x", "");
  bundle_.Write("big", "");
  std::filesystem::resize_file(bundle_.path() + "/big", kMaxBundleFileBytes + 1);
  EXPECT_EQ(Messages(), (std::vector<std::string>{
                            Entry("/big: a bundle has at most 268435456 bytes in one file"),
                            Entry("/mount: the name is reserved for mounted host directories")}));
}

TEST_F(BundleTreeTest, DepthCounts) {
  std::string path;
  for (int i = 0; i < kMaxBundleDepth; ++i) path += "d/";
  bundle_.Write(path + "x", "");
  EXPECT_EQ(Messages(), std::vector<std::string>());
  bundle_.Write(path + "d/x", "");
  ASSERT_EQ(Messages().size(), 1u);
  EXPECT_NE(Messages()[0].find("at most 32 levels"), std::string::npos);
}

}  // namespace
}  // namespace odyssey::dialect
