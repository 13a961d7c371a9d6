#include "policy/dialect/project_root.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/fakes/temporary_directory.h"

namespace odyssey::dialect {
namespace {

namespace fs = std::filesystem;

// What was checked may have become something else by the time that it is read.
class ProjectRootTest : public ::testing::Test {
 protected:
  ProjectRootTest() {
    std::ofstream(path_ / "file") << "text";
    EXPECT_EQ(*root_.Check("label", "file", Wanted::kFile), "file");
    EXPECT_EQ(*root_.Read("file"), "text");
    fs::remove(path_ / "file");
  }

  static fs::path Made(const fs::path& path) {
    fs::create_directory(path);
    return path;
  }
  std::string Refusal() const { return root_.Read("file").status().message(); }

  const fakes::TemporaryDirectory directory_;
  const fs::path path_ = Made(directory_.path() + "/project");
  const ProjectRoot root_{path_};
};

TEST_F(ProjectRootTest, NobodyWaitsForAFifo) {
  ASSERT_EQ(mkfifo((path_ / "file").c_str(), 0600), 0);
  EXPECT_EQ(Refusal(), "open file: it is a FIFO, not a regular file");
}

TEST_F(ProjectRootTest, ADirectoryIsNoFile) {
  fs::create_directory(path_ / "file");
  EXPECT_EQ(Refusal(), "open file: it is a directory, not a regular file");
}

TEST_F(ProjectRootTest, NoLinkLeadsOut) {
  std::ofstream(directory_.path() + "/secret") << "secret";
  fs::create_symlink("../secret", path_ / "file");
  EXPECT_EQ(Refusal(), "open file: no longer in the project root");
}

TEST_F(ProjectRootTest, WhatIsGoneIsNotThere) {
  EXPECT_EQ(root_.Read("file").status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace odyssey::dialect
