#include "ctl/bundle/bundle_output.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "policy/dialect/bundle.h"
#include "tests/fakes/bundle_source.h"

namespace odyssey::ctl {
namespace {

namespace fs = std::filesystem;

TEST(BundleOutputTest, TheIdIsMadeOfTheName) {
  EXPECT_EQ(SlugOf("My Cool Bundle"), "my-cool-bundle");
  EXPECT_EQ(SlugOf("  a__b! "), "a-b");
  EXPECT_EQ(SlugOf("…"), "hello-world");
}

// ODY-026
TEST(BundleOutputTest, InitMakesABundleThatIsValid) {
  const fakes::TemporaryDirectory home;
  const std::string path = home.path() + "/My Cool Bundle";
  ASSERT_EQ(*InitBundle(path), "my-cool-bundle");
  const Result<dialect::Bundle> bundle = dialect::LoadBundle(path);
  ASSERT_TRUE(bundle.ok()) << bundle.status().message();
  EXPECT_EQ(bundle->id, "my-cool-bundle");
  EXPECT_EQ(bundle->sandbox.mode, dialect::SandboxMode::kReadOnly);
  EXPECT_EQ(bundle->sandbox.network, policy::Network::kEgress);
  EXPECT_EQ(bundle->sandbox.system_tools_mode, policy::ExecutablesMode::kStandard);
  EXPECT_EQ(bundle->tools, (std::vector<std::string>{"Bash", "Edit", "Glob", "Grep", "LS", "Read",
                                                     "Skill", "Write"}));
  EXPECT_TRUE(fs::is_directory(path + "/skills"));
  EXPECT_TRUE(fs::is_directory(path + "/resources"));
}

TEST(BundleOutputTest, InitOverwritesNothing) {
  const fakes::TemporaryDirectory home;
  home.Write("README.md", "mine");
  EXPECT_EQ(InitBundle(home.path()).status().code(), Code::kAlreadyExists);
  EXPECT_FALSE(fs::exists(home.path() + "/agent.yaml"));
}

TEST(BundleOutputTest, BuildMakesAnInstallationAndReplacesItsOwn) {
  const fakes::TemporaryDirectory home;
  fakes::BundleSource source;
  const Result<Built> built = BuildInto(source.path(), home.path());
  ASSERT_TRUE(built.ok()) << built.status().message();
  EXPECT_EQ(built->path, home.path() + "/local/demo/0.1.0");
  for (const char* name :
       {"agent.yaml", "README.md", ".odyssey/index.json", ".odyssey/bundle.json"}) {
    EXPECT_TRUE(fs::exists(built->path + "/" + name)) << name;
  }
  source.Write("README.md", "# other\n");
  const Result<Built> again = BuildInto(source.path(), home.path());
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_NE(again->digest, built->digest);
  std::ifstream readme(built->path + "/README.md");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(readme), {}), "# other\n");
  EXPECT_EQ(std::distance(fs::directory_iterator(home.path() + "/local/demo"), {}), 1);

  fs::remove_all(built->path + "/.odyssey");
  EXPECT_EQ(BuildInto(source.path(), home.path()).status().code(), Code::kAlreadyExists);
}

TEST(BundleOutputTest, AnOutputFileAppearsWhenItIsCommitted) {
  const fakes::TemporaryDirectory home;
  {
    Result<OutputFile> file = OutputFile::Create(home.path(), "a.odyssey");
    ASSERT_TRUE(file.ok()) << file.status().message();
    ASSERT_TRUE(file->Write("x").ok());
  }
  EXPECT_TRUE(fs::is_empty(home.path()));
  Result<OutputFile> file = OutputFile::Create(home.path() + "/b", "a.odyssey");
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->Write("x").ok());
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_EQ(file->path(), home.path() + "/b");
  EXPECT_EQ(fs::file_size(home.path() + "/b"), 1u);
}

}  // namespace
}  // namespace odyssey::ctl
