#include "policy/dialect/ceiling_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "policy/ceiling/check.h"

namespace odyssey::dialect {
namespace {

namespace fs = std::filesystem;

class CeilingDirectoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string path = (fs::temp_directory_path() / "odyssey-ceiling-XXXXXX").string();
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    directory_ = path;
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::string Path(const std::string& name) const { return directory_ + "/" + name; }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name)) << text;
  }
  void ExpectRefused(const std::string& words) const {
    const auto texts = ReadOperatorFiles(directory_);
    EXPECT_EQ(texts.status().code(), Code::kFailedPrecondition) << texts.status().ToString();
    EXPECT_NE(texts.status().message().find(words), std::string::npos) << texts.status().message();
  }

  std::string directory_;
};

TEST_F(CeilingDirectoryTest, ReadsYamlFilesInTheOrderOfTheirNames) {
  Write("20.yaml", "b");
  Write("10.yaml", "a");
  Write("README", "c");
  Write(".hidden.yaml", "d");
  Write("10.yaml.dpkg-old", "e");
  EXPECT_EQ(**ReadOperatorFiles(directory_),
            (OperatorFiles{{Path("10.yaml"), "a"}, {Path("20.yaml"), "b"}}));
}

TEST_F(CeilingDirectoryTest, WithoutADirectoryTheBuiltInOneHolds) {
  const auto texts = ReadOperatorFiles(Path("none"));
  ASSERT_TRUE(texts.ok());
  EXPECT_FALSE(texts->has_value());
  EXPECT_EQ(*LoadCeiling(Path("none")), ceiling::BuiltIn());
}

TEST_F(CeilingDirectoryTest, IsParsedAgainWhenAFileHasChanged) {
  CeilingFiles files(directory_);
  Write("10.yaml", "version: odyssey.ceiling/v1\nlimits: {max: {pids: 5}}\n");
  const auto first = files.Get();
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  EXPECT_EQ((*first)->count, 1u);
  EXPECT_EQ((*first)->digest, ceiling::Digest((*first)->ceiling));
  EXPECT_EQ(*files.Get(), *first) << "the same parse";
  Write("10.yaml", "version: odyssey.ceiling/v1\nlimits: {max: {pids: 6}}\n");
  const auto second = files.Get();
  ASSERT_TRUE(second.ok());
  EXPECT_NE((*second)->digest, (*first)->digest);
  Write("10.yaml", "limits: 7\n");
  EXPECT_EQ(files.Get().status().code(), Code::kInvalidArgument);
  Write("10.yaml", "version: odyssey.ceiling/v1\nlimits: {max: {pids: 6}}\n");
  EXPECT_EQ((*files.Get())->digest, (*second)->digest);
  EXPECT_EQ((*CeilingFiles(Path("none")).Get())->count, std::nullopt);
}

TEST_F(CeilingDirectoryTest, AnEmptyDirectoryLeavesTheBuiltInOne) {
  EXPECT_EQ(*LoadCeiling(directory_), ceiling::BuiltIn());
}

// To grant one variable takes nothing else away.
TEST_F(CeilingDirectoryTest, AFileAddsToTheBuiltInGrants) {
  Write("10.yaml", "version: odyssey.ceiling/v1\ngrants: [{users: [a], env: [A_TOKEN]}]\n");
  const auto both = LoadCeiling(directory_);
  ASSERT_TRUE(both.ok()) << both.status().ToString();
  const ceiling::Asker anybody = {.owner = {.uid = 4242}, .host = {}};
  const policy::SandboxRequest request = {
      .network = policy::Network::kFull,
      .mounts = {{.source = "/srv/data", .target = "/srv/data"}}};
  EXPECT_TRUE(ceiling::Check(*both, request, anybody).ok());
  EXPECT_TRUE(ceiling::JudgeEnv(*both, "env", "A_TOKEN", {.uid = 1, .name = "a"}).ok());
}

TEST_F(CeilingDirectoryTest, OneFileTakesTheBuiltInGrantsAway) {
  Write("10.yaml", "version: odyssey.ceiling/v1\ngrants: [{users: ['*'], read: [/srv]}]\n");
  Write("20.yaml", "version: odyssey.ceiling/v1\nbuiltin: false\n");
  const auto both = LoadCeiling(directory_);
  ASSERT_TRUE(both.ok()) << both.status().ToString();
  const ceiling::Asker anybody = {.owner = {.uid = 4242}, .host = {}};
  EXPECT_FALSE(ceiling::Check(*both, {.network = policy::Network::kFull}, anybody).ok());
  EXPECT_EQ(both->grants.size(), 1u);
}

TEST_F(CeilingDirectoryTest, AFileThatSomebodyElseCouldWriteIsRefused) {
  Write("10.yaml", "version: odyssey.ceiling/v1\n");
  EXPECT_TRUE(LoadCeiling(directory_).ok());
  for (const mode_t mode : {0666, 0664, 0646}) {
    chmod(Path("10.yaml").c_str(), mode);
    ExpectRefused(Path("10.yaml") + ": its group or others may write it");
  }
}

TEST_F(CeilingDirectoryTest, ADirectoryThatSomebodyElseCouldWriteIsRefused) {
  for (const mode_t mode : {0777, 01777, 0775}) {
    chmod(directory_.c_str(), mode);
    ExpectRefused(directory_ + ": its group or others may write it");
  }
}

TEST_F(CeilingDirectoryTest, AStrangersFileOrDirectoryIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to give a file away";
  Write("10.yaml", "");
  ASSERT_EQ(chown(Path("10.yaml").c_str(), 4242, 4242), 0);
  ExpectRefused(Path("10.yaml") + ": it belongs to uid 4242; the operator's files must be root's");
  fs::remove(Path("10.yaml"));
  ASSERT_EQ(chown(directory_.c_str(), 4242, 4242), 0);
  ExpectRefused(directory_ + ": it belongs to uid 4242");
}

TEST_F(CeilingDirectoryTest, OnlyRegularFilesThemselvesAreRead) {
  Write("real", "version: odyssey.ceiling/v1\n");
  fs::create_symlink(Path("real"), Path("10.yaml"));
  ExpectRefused(Path("10.yaml") + ": it is a symbolic link");
  fs::remove(Path("10.yaml"));
  fs::create_directory(Path("10.yaml"));
  ExpectRefused(Path("10.yaml") + ": it is a directory, not a regular file");
  fs::remove(Path("10.yaml"));
  ASSERT_EQ(mkfifo(Path("10.yaml").c_str(), 0600), 0);
  ExpectRefused(Path("10.yaml") + ": it is a FIFO, not a regular file");
}

TEST_F(CeilingDirectoryTest, AFileThatWouldBeOverlookedIsRefused) {
  Write("10.yml", "");
  ExpectRefused(Path("10.yml") + ": it would not be read");
}

TEST_F(CeilingDirectoryTest, AFileThatIsTooLongIsRefused) {
  Write("10.yaml", std::string(1024 * 1024 + 1, '#'));
  ExpectRefused(Path("10.yaml") + ": longer than");
}

TEST_F(CeilingDirectoryTest, FilesAddUpAndTheFirstProblemIsNamed) {
  Write("10.yaml", "version: odyssey.ceiling/v1\nlimits: {max: {pids: 100}}\n");
  Write("20.yaml", "version: odyssey.ceiling/v1\nlimits: {max: {pids: 50}}\nforbidden: [/srv]\n");
  const auto both = LoadCeiling(directory_);
  ASSERT_TRUE(both.ok()) << both.status().ToString();
  EXPECT_EQ(both->most[2].value, 50u);
  EXPECT_EQ(both->most[2].origin, (ceiling::Origin{Path("20.yaml"), 2}));
  EXPECT_EQ(both->forbidden.size(), 1u);
  Write("20.yaml", "version: odyssey.ceiling/v1\ngrant: []\ncolour: red\n");
  EXPECT_EQ(LoadCeiling(directory_).status().message().substr(0, Path("20.yaml").size() + 10),
            Path("20.yaml") + ":2: grant:");
}

TEST(OwnerOfTest, KnowsRootAndNobodyElseByNumberAlone) {
  const ceiling::Owner root = OwnerOf(0);
  EXPECT_EQ(root.name, "root");
  EXPECT_FALSE(root.home.empty());
  ASSERT_FALSE(root.gids.empty());
  EXPECT_EQ(root.gids[0], 0u);
  EXPECT_EQ(root.groups[0], "root");
  EXPECT_EQ(OwnerOf(0x6ffffff0), (ceiling::Owner{.uid = 0x6ffffff0}));
  EXPECT_EQ(*FindOwner("--user", "root"), root);
  EXPECT_EQ(*FindOwner("--user", "0"), root);
  EXPECT_EQ(FindOwner("--user", "no such").status(),
            NotFound("--user no such: no such user; give a name or a uid"));
}

}  // namespace
}  // namespace odyssey::dialect
