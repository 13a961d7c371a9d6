#include "agentd/tool/ignored_paths.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "agentd/tool/search_tools.h"
#include "policy/model/tool_table.h"
#include "tests/fakes/fake_sandbox.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey::tools {
namespace {

namespace fs = std::filesystem;
using ignore::NodeKind;

constexpr char kCell[] = "cel_s";

class IgnoredPathsTest : public ::testing::Test {
 protected:
  void Put(const std::string& path, const std::string& text) {
    ASSERT_TRUE(sandbox_.WriteFile({kCell}, path, text, 0).ok());
  }
  bool Ignored(const std::string& path, NodeKind kind = NodeKind::kOther) {
    return ignored_.Contains(kCell, path, kind);
  }

  fakes::FakeSandbox sandbox_;
  IgnoredPaths ignored_{&sandbox_, kWorkspace};
};

TEST_F(IgnoredPathsTest, FilesOfTheDirectoriesAboveCountFromTheInnermost) {
  Put("/workspace/.gitignore", "*.log\nbuild/\n");
  Put("/workspace/a/.gitignore", "!keep.log\n");
  EXPECT_TRUE(Ignored("x.log"));
  EXPECT_TRUE(Ignored("/workspace/a/x.log"));
  EXPECT_FALSE(Ignored("a/keep.log"));
  EXPECT_FALSE(Ignored("./a/b/keep.log"));
  EXPECT_TRUE(Ignored("keep.log"));
  EXPECT_FALSE(Ignored(".", NodeKind::kDirectory));
  EXPECT_FALSE(Ignored(".gitignore"));
}

// No pattern brings back what is below a directory that is left out.
TEST_F(IgnoredPathsTest, WhatIsBelowAnIgnoredDirectoryIsIgnored) {
  Put("/workspace/.gitignore", "build/\n!build/keep\n");
  Put("/workspace/build/.gitignore", "!*\n");
  EXPECT_TRUE(Ignored("build", NodeKind::kDirectory));
  EXPECT_FALSE(Ignored("build"));
  EXPECT_TRUE(Ignored("build/keep"));
  EXPECT_TRUE(Ignored("a/build/b/c"));
}

TEST_F(IgnoredPathsTest, ARepositoryEndsWhatCountsAndHasAnExcludeFile) {
  Put("/workspace/.gitignore", "*.o\n");
  Put("/workspace/sub/.git/HEAD", "");
  Put("/workspace/sub/.git/info/exclude", "private\nboth\n");
  Put("/workspace/sub/.gitignore", "!both\n");
  Put("/workspace/tree/.git", "gitdir: elsewhere");
  EXPECT_FALSE(Ignored("sub/x.o"));
  EXPECT_FALSE(Ignored("tree/x.o"));
  EXPECT_TRUE(Ignored("other/x.o"));
  EXPECT_TRUE(Ignored("sub/d/private"));
  EXPECT_FALSE(Ignored("sub/both"));
}

TEST_F(IgnoredPathsTest, OutsideOfTheWorkspaceTheFilesThereCount) {
  Put("/workspace/.gitignore", "a\n");
  Put("/cell/tmp/.gitignore", "b\n");
  EXPECT_FALSE(Ignored("/cell/tmp/a"));
  EXPECT_TRUE(Ignored("/cell/tmp/b"));
  EXPECT_FALSE(Ignored("/cell", NodeKind::kDirectory));
}

TEST_F(IgnoredPathsTest, FilesAreReadAgainAfterForget) {
  EXPECT_FALSE(Ignored("a"));
  Put("/workspace/.gitignore", "a\n");
  EXPECT_FALSE(Ignored("a"));
  ignored_.Forget();
  EXPECT_TRUE(Ignored("a"));
}

// --- the same tree, seen by ripgrep through Glob

// A tree on the disk, with the same files in the fake sandbox.
class GeneratedTreeTest : public IgnoredPathsTest {
 protected:
  using Random = std::mt19937;

  static const std::string& One(const std::vector<std::string>& of, Random& random) {
    return of[random() % of.size()];
  }

  void Put(const std::string& path, const std::string& text) {
    const fs::path on_disk = fs::path(directory_.path()) / path;
    fs::create_directories(on_disk.parent_path());
    std::ofstream(on_disk) << text;
    IgnoredPathsTest::Put("/workspace/" + path, text);
    if (("/" + path).find("/.git/") == std::string::npos) files_.insert(path);
  }

  static std::string Patterns(Random& random) {
    static const std::vector<std::string> kPieces = {
        "a",    "b",    "ab",     "a.b",   "build",   "*",   "*",        "**", "?",
        "[ab]", "[!a]", "[^b-z]", "{a,b}", "{a*,b/}", ".h",  "/",        "/",  "/**/",
        "**/",  "/**",  "\\*",    "\\ ",   " ",       "x y", "\xC3\xA9", "#",  "!",
        "[]a]", "[a-",  "}",      ",",     "-",       "[z]", "{**/a,b}", "\\", "?b"};
    std::string out;
    for (size_t lines = 1 + random() % 4; lines > 0; --lines) {
      if (random() % 5 == 0) out += "!";
      if (random() % 4 == 0) out += "/";
      for (size_t pieces = 1 + random() % 3; pieces > 0; --pieces) out += One(kPieces, random);
      if (random() % 4 == 0) out += "/";
      out += random() % 9 == 0 ? " \r\n" : "\n";
    }
    return out;
  }

  void Fill(const std::string& at, int depth, Random& random) {
    static const std::vector<std::string> kNames = {
        "a", "b", "ab", "a.b", ".h", "x y", "\xC3\xA9", "[z]", "a b ", "!", "#", "*", "bb", "-"};
    static const std::vector<std::string> kDirectories = {"a", "b", "build", "ab", ".h", "x y"};
    for (int i = 0; i < 5; ++i) Put(at + One(kNames, random) + (i == 0 ? "" : ".f"), "");
    for (const std::string name : {"a.f", "b.f", "ab"}) {
      if (files_.count(at + name) == 0) Put(at + name, "");
    }
    if (random() % 2 == 0 || depth == 0) Put(at + ".gitignore", Patterns(random));
    if (random() % 5 == 0) Put(at + ".git/info/exclude", Patterns(random));
    if (depth == 3) return;
    for (int i = 0; i < 2; ++i) {
      const std::string name = One(kDirectories, random) + std::to_string(random() % 2);
      Fill(at + name + "/", depth + 1, random);
    }
  }

  // ripgrep itself, with the arguments of the tool.
  std::set<std::string> SeenByGlob() {
    sandbox_.on_exec = [this](const supervisor::v1::ExecStart& start, const sandbox::ExecSink& sink,
                              std::stop_token) -> Result<supervisor::v1::ExecOutcome> {
      std::string line = "cd '" + directory_.path() + "' && exec";
      for (const std::string& word : start.argv()) line += " '" + word + "'";
      ODY_RETURN_IF_ERROR(fakes::Begin(sink));
      FILE* out = popen(line.c_str(), "r");
      char buffer[4096];
      while (const size_t n = fread(buffer, 1, sizeof(buffer), out)) {
        ODY_RETURN_IF_ERROR(fakes::Print(sink, std::string(buffer, n)));
      }
      return fakes::Exited(WEXITSTATUS(pclose(out)));
    };
    ToolContext context;
    context.sandbox = &sandbox_;
    context.cell_id = kCell;
    const auto result = NewSearchTool(*policy::FindTool("Glob"))
                            ->Run(R"({"pattern":"*","max_results":1000})", context);
    EXPECT_TRUE(result.ok());
    const auto json = nlohmann::json::parse(result->json);
    EXPECT_FALSE(json.value("truncated", true)) << result->json;
    std::set<std::string> seen;
    for (const auto& path : json["matches"]) seen.insert(path.get<std::string>());
    return seen;
  }

  std::string PatternFiles() {
    std::string out;
    for (const auto& [path, text] : sandbox_.files("s")) {
      if (!text.empty()) out += path + ":\n" + text;
    }
    return out;
  }

  fakes::TemporaryDirectory directory_;
  std::set<std::string> files_;
};

class GeneratedTrees : public GeneratedTreeTest, public ::testing::WithParamInterface<int> {};

TEST_P(GeneratedTrees, AreSeenAsRipgrepSeesThem) {
  if (access(policy::kSearchProgram, X_OK) != 0) GTEST_SKIP() << "no ripgrep";
  Random random(static_cast<uint32_t>(GetParam()));
  Fill("", 0, random);
  std::set<std::string> visible;
  for (const std::string& file : files_) {
    if (!Ignored(file)) visible.insert(file);
  }
  const std::set<std::string> seen = SeenByGlob();
  std::vector<std::string> differ;
  std::set_symmetric_difference(visible.begin(), visible.end(), seen.begin(), seen.end(),
                                std::back_inserter(differ));
  ASSERT_TRUE(differ.empty()) << differ.front() << (seen.count(differ.front()) ? " is" : " is not")
                              << " seen by ripgrep\n"
                              << PatternFiles();
}

INSTANTIATE_TEST_SUITE_P(Seeds, GeneratedTrees, ::testing::Range(1, 61));

}  // namespace
}  // namespace odyssey::tools
