#include "policy/compile/mount_files.h"

#include <gtest/gtest.h>

#include "policy/compile/mounts.h"

namespace odyssey::compile {
namespace {

TEST(MountFilesTest, TakesEndsOfNames) {
  EXPECT_TRUE(CheckMountFiles({}).ok());
  EXPECT_TRUE(CheckMountFiles({.suffixes = {".md", ".tar.gz", "README", ".é"}}).ok());
  for (const std::string& bad :
       {std::string(), std::string("/x"), std::string("a/b"), std::string("\0", 1),
        std::string(".m\n"), std::string("\x7F"), std::string(cell::kMaxSuffixBytes + 1, 'x')}) {
    const Status status = CheckMountFiles({.suffixes = {".md", bad}});
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << bad;
    EXPECT_EQ(status.message().find("suffixes: "), 0u);
  }
  const std::vector<std::string> many(cell::kMaxSuffixes + 1, ".md");
  EXPECT_EQ(CheckMountFiles({.suffixes = many}).message(), "suffixes: 33: at most 32 are allowed");
}

TEST(MountFilesTest, GivesTheWorkerLowerCaseInOneOrder) {
  const cell::ToolRoot root = ToolRootOf({"/s", "/t", {}, false, {".TXT", ".md", ".txt"}, 7});
  EXPECT_EQ(root, (cell::ToolRoot{"/t", {".md", ".txt"}, 7}));
}

TEST(MountFilesTest, ComparesWhatItMeansNotHowItIsWritten) {
  EXPECT_TRUE(SameMountFiles({.suffixes = {".a", ".b"}}, {.suffixes = {".B", ".a", ".a"}}));
  EXPECT_FALSE(SameMountFiles({.suffixes = {".a"}}, {}));
  EXPECT_FALSE(SameMountFiles({.max_file_bytes = 1}, {.max_file_bytes = 2}));
}

TEST(MountFilesTest, EveryMountIsCheckedByItsField) {
  policy::SandboxRequest request;
  request.mounts = {{"/srv/a", "/a"}, {"/srv/b", "/b", {}, false, {"/"}}};
  EXPECT_EQ(ResolveMounts(request, {}).status().message(),
            "mounts[1].suffixes: \"/\": ends of names, 1 to 32 printable bytes without \"/\", are "
            "allowed");
  request.mounts = {{"/srv/a", "/a", {}, false, {".md"}}, {"/srv/a", "/a"}};
  EXPECT_EQ(ResolveMounts(request, {}).status().message(),
            "mounts[1].suffixes, max_file_bytes: another mount of /a says otherwise");
}

TEST(MountFilesTest, SaysWhatItMeans) {
  EXPECT_EQ(DescribeMountFiles({}), "");
  EXPECT_EQ(DescribeMountFiles({.suffixes = {".txt", ".MD"}, .max_file_bytes = 9}),
            "; file operations see only files that end in .md, .txt of at most 9 bytes");
  EXPECT_EQ(DescribeMountFiles({.max_file_bytes = 9}),
            "; file operations see only files of at most 9 bytes");
}

}  // namespace
}  // namespace odyssey::compile
