#include "supervisor/cell_tools/name_filter.h"

#include <gtest/gtest.h>

#include "supervisor/cell_tools/test_tree.h"

namespace odyssey::cell_tools {
namespace {

namespace fs = std::filesystem;
using tool::Op;
using tool::Response;

// A workspace without limits and a mount that shows .md and .tar.gz files of at most 1,000 bytes.
class NameFilterTest : public TestTree {
 protected:
  void SetUp() override {
    TestTree::SetUp();
    fs::create_directory(mount());
  }
  std::string mount() const { return outside() + "/notes"; }
  std::string In(const std::string& name) const { return mount() + "/" + name; }

  Response Do(const tool::Request& request) const {
    Result<PathResolver> paths = PathResolver::Create(
        {{.path = workspace()},
         {.path = cell()},
         {.path = mount(), .suffixes = {".md", ".tar.gz"}, .max_file_bytes = 1000}});
    EXPECT_TRUE(paths.ok());
    return Perform({std::move(paths).value(), RunTree(cell())}, request);
  }
  Response Read(const std::string& path) const { return Do({.op = Op::kRead, .path = path}); }
  Response Write(const std::string& path, const std::string& content) const {
    return Do({.op = Op::kWrite, .path = path, .content = content});
  }
};

TEST_F(NameFilterTest, RefusesOtherSuffixesAndSaysWhichAreAllowed) {
  Put(In("a.txt"), "secret");
  const std::string refused = "Cannot access '" + In("a.txt") +
                              "': suffix '.txt' not allowed.\nAllowed suffixes: .md, .tar.gz";
  EXPECT_EQ(Read(In("a.txt")).error, refused);
  EXPECT_EQ(Read(In("a.txt")).code, Code::kPermissionDenied);
  EXPECT_EQ(Write(In("a.txt"), "x").error, refused);
  EXPECT_EQ(Do({.op = Op::kEdit, .path = In("a.txt"), .old_text = "secret", .new_text = "x"}).error,
            refused);
  EXPECT_EQ(Get(In("a.txt")), "secret");
  EXPECT_EQ(Write(In("README"), "x").error,
            "Cannot access '" + In("README") +
                "': suffix '' not allowed.\nAllowed suffixes: .md, .tar.gz");
}

TEST_F(NameFilterTest, TakesTheAllowedOnesInEitherCaseAndWithSeveralDots) {
  for (const char* name : {"a.md", "B.MD", "c.Tar.Gz", ".md"}) {
    EXPECT_EQ(Write(In(name), "text").code, Code::kOk) << name;
    EXPECT_EQ(Read(In(name)).content, "text") << name;
  }
  EXPECT_EQ(Write(In("c.gz"), "x").code, Code::kPermissionDenied);
}

TEST_F(NameFilterTest, LimitsNothingElsewhere) {
  EXPECT_EQ(Write("a.txt", std::string(2000, 'x')).code, Code::kOk);
  EXPECT_EQ(Read("a.txt").code, Code::kOk);
}

// The end of the walk decides: a name that is allowed may not lead to one that is not.
TEST_F(NameFilterTest, JudgesWhatALinkLeadsTo) {
  Put(In("a.txt"), "secret");
  Put(In("b.md"), "shown");
  fs::create_symlink("a.txt", In("link.md"));
  fs::create_symlink(In("b.md"), workspace() + "/plain.txt");
  EXPECT_EQ(Read(In("link.md")).code, Code::kPermissionDenied);
  EXPECT_EQ(Read("plain.txt").content, "shown");
}

TEST_F(NameFilterTest, RefusesLargerFilesAndSaysTheLimit) {
  Put(In("a.md"), std::string(1234, 'x'));
  EXPECT_EQ(Read(In("a.md")).error,
            "Cannot read '" + In("a.md") +
                "': file too large (1,234 bytes).\nMaximum allowed: 1,000 bytes");
  EXPECT_EQ(Read(In("a.md")).code, Code::kFailedPrecondition);
  EXPECT_EQ(Write(In("b.md"), std::string(1'000'001, 'x')).error,
            "Cannot write '" + In("b.md") +
                "': file too large (1,000,001 bytes).\nMaximum allowed: 1,000 bytes");
  EXPECT_FALSE(fs::exists(In("b.md")));
  Put(In("c.md"), std::string(999, 'x') + "y");
  EXPECT_EQ(Do({.op = Op::kEdit, .path = In("c.md"), .old_text = "y", .new_text = "yy"}).code,
            Code::kFailedPrecondition);
  EXPECT_EQ(fs::file_size(In("c.md")), 1000u);
}

TEST_F(NameFilterTest, ListsWhatCanBeRead) {
  Put(In("a.md"), "");
  Put(In("a.txt"), "");
  fs::create_directory(In("dir.txt"));
  fs::create_symlink("a.txt", In("link"));
  std::vector<std::string> names;
  for (const auto& entry : Do({.op = Op::kList, .path = mount()}).entries) {
    names.push_back(entry.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"dir.txt", "a.md"}));
}

// A mount may be one file.
TEST_F(NameFilterTest, AppliesToAMountThatIsAFile) {
  Put(outside() + "/f.txt", "x");
  Result<PathResolver> paths = PathResolver::Create(
      {{.path = workspace()}, {.path = outside() + "/f.txt", .suffixes = {".md"}}});
  ASSERT_TRUE(paths.ok());
  const Reach reach{std::move(paths).value(), RunTree(cell())};
  EXPECT_EQ(Perform(reach, {.op = Op::kRead, .path = outside() + "/f.txt"}).code,
            Code::kPermissionDenied);
}

}  // namespace
}  // namespace odyssey::cell_tools
