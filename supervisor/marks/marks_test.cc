#include "supervisor/marks/marks.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace odyssey::marks {
namespace {

std::string FileMark(const std::string& path) {
  return MarkOf({.path = path, .mode = S_IFREG | 0644});
}

TEST(MarksTest, EveryRowMarksItsInstanceAtAnyDepthAndInAnyCase) {
  for (const Row& row : Table()) {
    const std::string path(row.instance.empty() ? row.pattern : row.instance);
    EXPECT_FALSE(row.reason.empty()) << row.pattern;
    EXPECT_FALSE(FileMark(path).empty()) << path;
    EXPECT_FALSE(FileMark("a/b/" + path).empty()) << path;
    EXPECT_FALSE(MarkOf({.path = path, .mode = 0}).empty()) << path << " deleted";
    std::string upper = path;
    for (char& c : upper) c = static_cast<char>(toupper(c));
    EXPECT_FALSE(FileMark(upper).empty()) << upper;
  }
}

TEST(MarksTest, OrdinaryWorkIsNotMarked) {
  for (const char* path : {"src/main.c",
                           "README.md",
                           "Makefile",
                           "CMakeLists.txt",
                           "tests/conftest.py",
                           "docs/a.md",
                           "package-lock.json",
                           "go.mod",
                           "lib/environment.rb",
                           "setup.py",
                           "pyproject.toml",
                           "src/index.ts",
                           "config/settings.py",
                           "a.gitignore",
                           ".gitignore",
                           ".editorconfig",
                           "src/HEAD",
                           "hooks/useState.ts",
                           ".git/objects/ab/cdef",
                           ".git/refs/heads/main",
                           ".git/logs/HEAD",
                           ".git/index",
                           ".git/HEAD",
                           ".git/COMMIT_EDITMSG",
                           ".git/packed-refs",
                           ".git/objects/pack/pack-1.idx",
                           ".git/modules/sub/objects/ab/cd"}) {
    EXPECT_EQ(FileMark(path), "") << path;
  }
}

TEST(MarksTest, WhatGitObeysIsMarkedWhereverTheRepositoryIs) {
  for (const char* path :
       {".git/hooks/post-checkout", ".git/config", ".git/config.worktree", ".git/commondir",
        ".git/info/attributes", ".git/objects/info/alternates", ".git/rebase-merge/git-rebase-todo",
        ".git/modules/sub/config", ".git/modules/a/b/hooks/x", ".git/worktrees/w/gitdir",
        "sub/.git", "sub/.git/config", ".GIT/config", ".git./config", "git~1/hooks/x",
        ".g\xe2\x80\x8cit/config", ".git/rr-cache/x/postimage", ".git/unknown"}) {
    EXPECT_NE(FileMark(path), "") << path;
  }
}

TEST(MarksTest, KindsAndLinks) {
  const auto link = [](const char* path, const char* target) {
    return MarkOf({.path = path, .mode = S_IFLNK | 0777, .link_target = target});
  };
  EXPECT_EQ(link("a/b", "c"), "");
  EXPECT_EQ(link("a/b", "../c"), "");
  EXPECT_NE(link("a/b", "../../c"), "");
  EXPECT_NE(link("a/b", "x/../../../c"), "");
  EXPECT_NE(link("b", "/etc/passwd"), "");
  EXPECT_NE(MarkOf({.path = "p", .mode = S_IFIFO | 0644}), "");
  EXPECT_NE(MarkOf({.path = "p", .mode = S_IFSOCK | 0644}), "");
  EXPECT_NE(MarkOf({.path = "p", .mode = S_IFREG | S_ISUID | 0755}), "");
  EXPECT_EQ(MarkOf({.path = "p", .mode = S_IFREG | 0755}), "");
}

TEST(MarksTest, ContentsThatGitAndPackageManagersObey) {
  EXPECT_EQ(MarkByContent(".git", "", "x"), "");  // a file: its name marks it
  EXPECT_EQ(MarkByContent(".git/HEAD", "", "ref: refs/heads/main\n"), "");
  EXPECT_EQ(MarkByContent(".git/HEAD", "", std::string(40, 'a') + "\n"), "");
  EXPECT_NE(MarkByContent(".git/HEAD", "", "ref: refs/../../x\n"), "");
  EXPECT_EQ(MarkByContent(".git/logs/HEAD", "", "0 1 a <b> commit\n"), "");
  EXPECT_NE(MarkByContent(".git/index", "", "no index"), "");
  const std::string old_json = R"({"name": "x", "scripts": {"test": "a"}, "version": "1"})";
  EXPECT_EQ(MarkByContent("package.json", old_json,
                          R"({"name": "y", "scripts": {"test": "a"}, "version": "2"})"),
            "");
  EXPECT_NE(MarkByContent("package.json", old_json,
                          R"({"name": "x", "scripts": {"postinstall": "b"}, "version": "1"})"),
            "");
  EXPECT_NE(MarkByContent("sub/commondir", "", ".."), "");
}

}  // namespace
}  // namespace odyssey::marks
