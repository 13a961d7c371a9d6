#include "supervisor/cell_tools/path_resolver.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "supervisor/cell_tools/test_tree.h"

namespace odyssey::cell_tools {
namespace {

class PathResolverTest : public TestTree {
 protected:
  Status ParseStatus(const std::string& path) const { return Resolver().Parse(path).status(); }

  // The status of opening `path` for reading.
  Status OpenStatus(const std::string& path) const {
    const PathResolver resolver = Resolver();
    const Result<VisiblePath> parsed = resolver.Parse(path);
    if (!parsed.ok()) return parsed.status();
    return resolver.Open(*parsed, O_RDONLY, Access::kRead).status();
  }
};

TEST_F(PathResolverTest, NormalisesWithoutTouchingTheDisk) {
  const PathResolver resolver = Resolver();
  EXPECT_EQ(resolver.Parse("a//./b/")->absolute, workspace() + "/a/b");
  EXPECT_EQ(resolver.Parse(".")->absolute, workspace());
  EXPECT_EQ(resolver.Parse(cell() + "/tmp")->absolute, cell() + "/tmp");
  EXPECT_TRUE(resolver.Parse("a")->relative);
  EXPECT_FALSE(resolver.Parse(workspace() + "/a")->relative);
}

TEST_F(PathResolverTest, RefusesMalformedPaths) {
  EXPECT_EQ(ParseStatus("").code(), Code::kInvalidArgument);
  EXPECT_EQ(ParseStatus(std::string("a\0b", 3)).code(), Code::kInvalidArgument);
  EXPECT_EQ(ParseStatus(std::string(5000, 'a')).code(), Code::kInvalidArgument);
}

TEST_F(PathResolverTest, RefusesEveryDotDotComponent) {
  for (const char* path : {"..", "../x", "a/../b", "a/..", "/workspace/../etc"}) {
    EXPECT_EQ(
        ParseStatus(path),
        PermissionDenied(std::string("access denied: path traversal is not allowed: ") + path));
  }
  EXPECT_TRUE(ParseStatus("..a/b..").ok());
}

TEST_F(PathResolverTest, RefusesAbsolutePathsOutsideTheRoots) {
  EXPECT_EQ(ParseStatus("/etc/passwd"),
            PermissionDenied("path /etc/passwd is outside the visible workspace"));
  EXPECT_EQ(ParseStatus("/").code(), Code::kPermissionDenied);
  EXPECT_EQ(ParseStatus(workspace() + "x").code(), Code::kPermissionDenied);
}

TEST_F(PathResolverTest, NamesWhatAnEscapingLinkPointsTo) {
  std::filesystem::create_symlink("/etc/passwd", workspace() + "/l");
  EXPECT_EQ(OpenStatus("l").ToString(),
            "PERMISSION_DENIED: sandbox policy blocks Read access to /etc/passwd");
  std::filesystem::create_symlink("../outside", workspace() + "/up");
  EXPECT_EQ(OpenStatus("up/x").ToString(),
            "PERMISSION_DENIED: sandbox policy blocks Read access to " + outside() + "/x");
  std::filesystem::create_symlink("/", workspace() + "/slash");
  EXPECT_EQ(OpenStatus("slash").code(), Code::kPermissionDenied);
}

TEST_F(PathResolverTest, FollowsLinksThatStayInTheRoots) {
  Put(cell() + "/note", "n");
  std::filesystem::create_directory(workspace() + "/dir");
  Put(workspace() + "/dir/file", "f");
  std::filesystem::create_symlink("dir/file", workspace() + "/relative");
  std::filesystem::create_symlink(workspace() + "/dir", workspace() + "/absolute");
  std::filesystem::create_symlink("../../cell/note", workspace() + "/dir/other_root");
  EXPECT_TRUE(OpenStatus("relative").ok());
  EXPECT_TRUE(OpenStatus("absolute/file").ok());
  EXPECT_TRUE(OpenStatus("absolute/other_root").ok())
      << OpenStatus("absolute/other_root").ToString();
}

// Where a path without links leads, as its refusal says.
TEST_F(PathResolverTest, SaysWhereAPathLeadsThatMustHaveNoLink) {
  const PathResolver resolver = Resolver();
  std::filesystem::create_directories(workspace() + "/secrets/deep");
  std::filesystem::create_directories(workspace() + "/pub");
  std::filesystem::create_symlink("../secrets/a", workspace() + "/pub/file");
  std::filesystem::create_symlink(workspace() + "/secrets", workspace() + "/pub/tree");
  std::filesystem::create_symlink("tree/deep", workspace() + "/pub/chain");
  std::filesystem::create_symlink("/etc", workspace() + "/pub/out");
  const std::string secrets = workspace() + "/secrets";
  const std::pair<std::string, std::string> cases[] = {
      {"pub/file", secrets + "/a"},         {"pub/tree", secrets},
      {"pub/tree/a", secrets + "/a"},       {"pub/tree/none/of/it", secrets + "/none/of/it"},
      {"pub/chain/x", secrets + "/deep/x"}, {workspace() + "/pub/./file", secrets + "/a"},
  };
  for (const auto& [path, end] : cases) {
    for (const MissingParents missing : {MissingParents::kError, MissingParents::kCreate}) {
      const auto at = resolver.Locate(*resolver.Parse(path, true), Access::kWrite, missing);
      EXPECT_EQ(at.status(), Status(Code::kAborted, "path `" + path + "` leads to " + end));
      EXPECT_EQ(at.status().detail().value, end);
    }
  }
  EXPECT_FALSE(std::filesystem::exists(secrets + "/none"));
  EXPECT_TRUE(resolver.Open(*resolver.Parse("secrets", true), O_RDONLY, Access::kRead).ok());
  const auto out =
      resolver.Locate(*resolver.Parse("pub/out", true), Access::kRead, MissingParents::kError);
  EXPECT_EQ(out.status().code(), Code::kPermissionDenied);
}

TEST_F(PathResolverTest, EndsOnALinkLoop) {
  std::filesystem::create_symlink("b", workspace() + "/a");
  std::filesystem::create_symlink("a", workspace() + "/b");
  EXPECT_EQ(OpenStatus("a").code(), Code::kInvalidArgument);
  std::filesystem::create_symlink(workspace() + "/d", workspace() + "/c");
  std::filesystem::create_symlink(workspace() + "/c", workspace() + "/d");
  EXPECT_EQ(OpenStatus("c").code(), Code::kInvalidArgument);
}

TEST_F(PathResolverTest, RefusesMagicLinks) {
  std::filesystem::create_symlink("/proc/self/fd/0", workspace() + "/magic");
  EXPECT_EQ(OpenStatus("magic").code(), Code::kPermissionDenied);
}

TEST_F(PathResolverTest, TellsMissingFromForbidden) {
  EXPECT_EQ(OpenStatus("none").code(), Code::kNotFound);
  EXPECT_EQ(OpenStatus("none/below").code(), Code::kNotFound);
}

TEST_F(PathResolverTest, ADeeperRootWinsAndAFileMayBeARoot) {
  Put(outside() + "/granted", "g");
  Put(outside() + "/hidden", "h");
  const Result<PathResolver> resolver =
      PathResolver::Create(Roots({workspace(), outside() + "/granted"}));
  ASSERT_TRUE(resolver.ok());
  const Result<VisiblePath> granted = resolver->Parse(outside() + "/granted");
  ASSERT_TRUE(granted.ok());
  EXPECT_TRUE(resolver->Open(*granted, O_RDONLY, Access::kRead).ok());
  EXPECT_EQ(resolver->Parse(outside() + "/hidden").status().code(), Code::kPermissionDenied);
  EXPECT_EQ(resolver->Parse(outside()).status().code(), Code::kPermissionDenied);
}

TEST_F(PathResolverTest, RefusesRootsItCannotUse) {
  EXPECT_EQ(PathResolver::Create(Roots({})).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(PathResolver::Create(Roots({"relative"})).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(PathResolver::Create(Roots({"/"})).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(PathResolver::Create(Roots({workspace() + "/none"})).status().code(), Code::kNotFound);
}

TEST_F(PathResolverTest, MakesMissingParentsOnlyWhenAsked) {
  const PathResolver resolver = Resolver();
  const VisiblePath path = *resolver.Parse("x/y/z");
  EXPECT_EQ(resolver.Locate(path, Access::kWrite, MissingParents::kError).status().code(),
            Code::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(workspace() + "/x"));
  const auto location = resolver.Locate(path, Access::kWrite, MissingParents::kCreate);
  ASSERT_TRUE(location.ok()) << location.status().ToString();
  EXPECT_EQ(location->name, "z");
  EXPECT_EQ(location->absolute, workspace() + "/x/y/z");
  EXPECT_TRUE(std::filesystem::is_directory(workspace() + "/x/y"));
}

TEST_F(PathResolverTest, MakesNoParentsBehindAnEscapingLink) {
  std::filesystem::create_symlink(outside(), workspace() + "/out");
  const PathResolver resolver = Resolver();
  const auto location =
      resolver.Locate(*resolver.Parse("out/new/f"), Access::kWrite, MissingParents::kCreate);
  EXPECT_EQ(location.status().code(), Code::kPermissionDenied);
  EXPECT_TRUE(std::filesystem::is_empty(outside()));
}

TEST_F(PathResolverTest, TakesDotDotOfALinkAfterTheLinksBeforeIt) {
  // "deep/../f" is other/f, not workspace/f: "deep" is a link to other/deep.
  std::filesystem::create_directories(workspace() + "/other/deep");
  Put(workspace() + "/other/f", "");
  std::filesystem::create_symlink("other/deep", workspace() + "/deep");
  std::filesystem::create_symlink("deep/../f", workspace() + "/l");
  const PathResolver resolver = Resolver();
  const auto location =
      resolver.Locate(*resolver.Parse("l"), Access::kRead, MissingParents::kError);
  ASSERT_TRUE(location.ok()) << location.status().ToString();
  EXPECT_EQ(location->absolute, workspace() + "/other/f");
}

TEST_F(PathResolverTest, AFileIsNoDirectory) {
  Put(workspace() + "/f", "");
  EXPECT_EQ(OpenStatus("f/below").code(), Code::kInvalidArgument);
  const Result<PathResolver> resolver =
      PathResolver::Create(Roots({workspace(), workspace() + "/f"}));
  ASSERT_TRUE(resolver.ok());
  const auto location =
      resolver->Locate(*resolver->Parse("f/below"), Access::kRead, MissingParents::kError);
  EXPECT_EQ(location.status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace odyssey::cell_tools
