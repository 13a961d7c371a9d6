#include "ctl/policy/policy_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/fakes/temporary_directory.h"

namespace odyssey::ctl {
namespace {

class PolicyFileTest : public ::testing::Test {
 protected:
  Result<dialect::Policy> Read(const std::string& name, const std::string& text) {
    problems_.clear();
    const dialect::PolicyContext context = MakePolicyContext(
        directory_.path(), [](const std::string&) { return std::optional<std::string>(); });
    return ReadPolicy(directory_.Write(name, text), context, &problems_);
  }

  fakes::TemporaryDirectory directory_;
  dialect::Problems problems_;
};

TEST_F(PolicyFileTest, FollowsNoLinkThatACellCouldHaveMade) {
  std::filesystem::create_directory(directory_.path() + "/real");
  ASSERT_EQ(symlink("real", (directory_.path() + "/link").c_str()), 0);
  EXPECT_FALSE(Read("w.yaml", "sandbox: {paths: {a: {root: real}, b: {root: link/new/x}}}\n").ok());
  ASSERT_EQ(problems_.size(), 1u);
  EXPECT_EQ(problems_[0].key, "sandbox.paths.b.root");
  const std::string real = std::filesystem::canonical(directory_.path()).string();
  EXPECT_EQ(problems_[0].message.find(real + "/link: is a symbolic link"), 0u);
  EXPECT_NE(problems_[0].message.find(real + "/real/new/x"), std::string::npos);
}

TEST_F(PolicyFileTest, FollowsTheSystemsOwnLinks) {
  ASSERT_TRUE(std::filesystem::is_symlink("/bin"));
  const Result<dialect::Policy> policy =
      Read("w.yaml", "sandbox: {paths: {a: {root: /bin/no/such}}}\n");
  ASSERT_TRUE(policy.ok()) << policy.status().ToString();
  EXPECT_EQ(policy->request.mounts[0].source, "/usr/bin/no/such");
}

TEST_F(PolicyFileTest, ALinkIsNoVolume) {
  std::filesystem::create_directory(directory_.path() + "/real");
  ASSERT_EQ(symlink("real", (directory_.path() + "/link").c_str()), 0);
  ASSERT_EQ(symlink("/etc", (directory_.path() + "/out").c_str()), 0);
  const Result<dialect::Policy> policy =
      Read("odek.json", R"({"sandbox_volumes": ["link:/a", "out/ssl:/b", "real:/c"]})");
  ASSERT_TRUE(policy.ok()) << policy.status().ToString();
  EXPECT_EQ(policy->request.mounts.size(), 1u);
  EXPECT_EQ(policy->warnings.size(), 2u);
}

TEST_F(PolicyFileTest, MissingPathsAreSeenToBeMissing) {
  const Result<dialect::Policy> policy =
      Read("p.yaml", "version: 1\nfilesystem_policy: {read_only: [/no/such, /no/such/a]}\n");
  ASSERT_TRUE(policy.ok()) << policy.status().ToString();
  EXPECT_TRUE(policy->request.mounts.empty());
  EXPECT_EQ(Read("q.yaml",
                 "version: 1\nfilesystem_policy: {read_only: [/no/such]}\n"
                 "landlock: {compatibility: hard_requirement}\n")
                .status()
                .code(),
            Code::kInvalidArgument);
}

TEST_F(PolicyFileTest, TellsEveryProblemAndTheFirst) {
  const Result<dialect::Policy> policy = Read("p.yaml", "version: 2\nproces: {}\nlandlock: []\n");
  EXPECT_EQ(problems_.size(), 3u);
  EXPECT_EQ(policy.status().message(),
            "invalid policy at " + dialect::ToString(problems_[0]) + " (and 2 more)");
  EXPECT_EQ(Read("large.json", std::string(dialect::kMaxPolicyBytes + 1, ' ')).status().code(),
            Code::kResourceExhausted);
}

TEST_F(PolicyFileTest, NoFileThatIsReadIsWaitedFor) {
  const std::string fifo = directory_.path() + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const dialect::PolicyContext context = MakePolicyContext(
      directory_.path(), [](const std::string&) { return std::optional<std::string>(); });
  const Status refused = InvalidArgument("open " + fifo + ": it is a FIFO, not a regular file");
  EXPECT_EQ(ReadPolicy(fifo, context, &problems_).status(), refused);
  EXPECT_EQ(context.Read(fifo).status(), refused) << "beside the file";
}

TEST_F(PolicyFileTest, ABundleIsFoundByItsParts) {
  directory_.Write("odyssey.bundle.yaml", "");
  directory_.Write("agents/one/agent.yaml", "");
  const std::string root = directory_.path();
  EXPECT_EQ(*BundleDirectory(root), root);
  EXPECT_EQ(*BundleDirectory(root + "/odyssey.bundle.yaml"), root);
  EXPECT_EQ(*BundleDirectory(root + "/agents/one/agent.yaml"), root);
  const std::string other = directory_.Write("README.md", "");
  EXPECT_EQ(BundleDirectory(other).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(BundleDirectory(root + "/none").status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace odyssey::ctl
