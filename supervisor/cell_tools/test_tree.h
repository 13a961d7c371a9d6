#ifndef ODYSSEY_SUPERVISOR_CELL_TOOLS_TEST_TREE_H_
#define ODYSSEY_SUPERVISOR_CELL_TOOLS_TEST_TREE_H_

// A temporary directory with a workspace, a second root, and an outside that nothing may reach.
// Tests only.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "supervisor/cell_tools/file_ops.h"

namespace odyssey::cell_tools {

class TestTree : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "cell_tools_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    base_ = std::filesystem::canonical(name);
    std::filesystem::create_directories(workspace());
    std::filesystem::create_directories(cell());
    std::filesystem::create_directories(outside());
  }
  void TearDown() override { std::filesystem::remove_all(base_); }

  std::string workspace() const { return base_ + "/workspace"; }
  std::string cell() const { return base_ + "/cell"; }
  std::string outside() const { return base_ + "/outside"; }

  static std::vector<cell::ToolRoot> Roots(const std::vector<std::string>& paths) {
    std::vector<cell::ToolRoot> roots;
    for (const std::string& path : paths) roots.emplace_back().path = path;
    return roots;
  }
  PathResolver Resolver() const {
    Result<PathResolver> resolver = PathResolver::Create(Roots({workspace(), cell()}));
    EXPECT_TRUE(resolver.ok()) << resolver.status().ToString();
    return std::move(resolver).value();
  }

  Reach MakeReach() const { return {Resolver(), RunTree(cell() + "/runs")}; }

  static void Put(const std::string& path, const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
  }
  static std::string Get(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  std::string base_;
};

}  // namespace odyssey::cell_tools

#endif  // ODYSSEY_SUPERVISOR_CELL_TOOLS_TEST_TREE_H_
