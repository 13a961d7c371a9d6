#include "policy/dialect/skill_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace odyssey::dialect {
namespace {

namespace fs = std::filesystem;

class SkillFilesTest : public ::testing::Test {
 protected:
  SkillFilesTest() {
    std::string name = testing::TempDir() + "skills_XXXXXX";
    base_ = mkdtemp(name.data());
  }
  ~SkillFilesTest() override { fs::remove_all(base_); }

  void Write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(base_ + "/" + path).parent_path());
    std::ofstream(base_ + "/" + path) << text;
  }
  std::vector<SkillFile> Find(const std::vector<Skill>& declared = {{"own", "skills/a"}}) {
    problems_.clear();
    return FindSkillFiles(ProjectRoot(base_), declared, "", &problems_);
  }
  std::string FirstProblem() const { return problems_.empty() ? "" : ToString(problems_[0]); }

  std::string base_;
  Problems problems_;
};

TEST_F(SkillFilesTest, FrontMatterNamesAndDescribes) {
  Write("skills/a/SKILL.md",
        "---\nname: ship\ndescription: >\n  Build\n  and ship\nlicense: x\n---\n# T\ntext\n");
  EXPECT_EQ(Find(), (std::vector<SkillFile>{{"ship", "Build and ship", "skills/a/SKILL.md"}}));
  EXPECT_EQ(FirstProblem(), "");
}

TEST_F(SkillFilesTest, WithoutItTheDirectoryNamesAndTheFirstLineDescribes) {
  Write("skills/a/SKILL.md", "# Title\n\n  first line\nsecond\n");
  Write("skills/deep/er/SKILL.md", "");
  Write("other/SKILL.md", "not one of them");
  EXPECT_EQ(Find(), (std::vector<SkillFile>{{"er", "", "skills/deep/er/SKILL.md"},
                                            {"own", "first line", "skills/a/SKILL.md"}}));
  EXPECT_EQ(FirstProblem(), "");
}

TEST_F(SkillFilesTest, ABundleThatDeclaresNoneHasNone) {
  Write("skills/a/SKILL.md", "x");
  EXPECT_TRUE(Find({}).empty());
}

TEST_F(SkillFilesTest, TwoOfOneNameAreAProblem) {
  Write("skills/a/SKILL.md", "---\nname: b\n---\n");
  Write("skills/b/SKILL.md", "x");
  Find();
  EXPECT_EQ(FirstProblem(),
            "skills/b/SKILL.md: name: skill name is used twice: `b`, by skills/a/SKILL.md");
}

TEST_F(SkillFilesTest, WhatCannotBeReadIsAProblemWithItsLine) {
  Write("skills/a/SKILL.md", "---\nname: a\ndescription: [1]\n---\n");
  Find();
  EXPECT_EQ(FirstProblem(), "skills/a/SKILL.md:3: description: must be a string, not a list");
  Write("skills/a/SKILL.md", "---\nname: ../a\n---\n");
  Find();
  EXPECT_NE(FirstProblem().find("skills/a/SKILL.md:2: name: skill name"), std::string::npos)
      << FirstProblem();
  Write("skills/a/SKILL.md", "---\nname: a\n");
  Find();
  EXPECT_EQ(FirstProblem(), "skills/a/SKILL.md:1: front matter has no end: a second line `---`");
  fs::remove_all(base_ + "/skills/a");
  Find();
  EXPECT_EQ(FirstProblem(), "skills/a: skill `own` has no SKILL.md");
}

TEST_F(SkillFilesTest, LinksAreNotFollowed) {
  Write("secret", "root:x");
  Write("skills/a/SKILL.md", "x");
  fs::create_directories(base_ + "/skills/b");
  fs::create_symlink("../../secret", base_ + "/skills/b/SKILL.md");
  EXPECT_EQ(Find().size(), 1u);
}

}  // namespace
}  // namespace odyssey::dialect
