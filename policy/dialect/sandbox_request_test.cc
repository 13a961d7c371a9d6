#include "policy/dialect/sandbox_request.h"

#include <gtest/gtest.h>

#include "policy/ceiling/ceiling.h"

namespace odyssey::dialect {
namespace {

SandboxSpec Standard() { return {.system_tools_mode = policy::ExecutablesMode::kStandard}; }

TEST(ToRequestTest, CarriesTheManifestsLimits) {
  SandboxSpec spec = Standard();
  spec.mode = SandboxMode::kReadOnly;
  spec.network = policy::Network::kFull;
  const policy::Limits limits = {.memory_bytes = 64 << 20,
                                 .cpu_millis = 2000,
                                 .pids = 9,
                                 .wall_clock_ms = 3000,
                                 .cpu_seconds = 4};
  spec.limits = limits;
  const Result<policy::SandboxRequest> request = ToRequest(spec, {});
  ASSERT_TRUE(request.ok()) << request.status().message();
  EXPECT_EQ(request->mode, policy::Mode::kReadOnly);
  EXPECT_EQ(request->network, policy::Network::kFull);
  EXPECT_EQ(request->executables_mode, policy::ExecutablesMode::kStandard);
  EXPECT_EQ(request->limits, limits);
}

TEST(ToRequestTest, TheDefaultsAreOneCoreAnd512MiB) {
  const Result<policy::SandboxRequest> request = ToRequest(Standard(), {});
  EXPECT_EQ(request->limits.cpu_millis, 1000u);
  EXPECT_EQ(request->limits.memory_bytes, uint64_t{512} << 20);
}

TEST(ToRequestTest, MirrorsMountsBelowTheWorkspace) {
  SandboxSpec spec = Standard();
  spec.read_mounts = {".", "/srv/data"};
  spec.write_mounts = {".", "/srv/out"};
  const Result<policy::SandboxRequest> request = ToRequest(spec, {.client_cwd = "/home/u/p"});
  using policy::Access;
  EXPECT_EQ(request->mounts,
            (std::vector<policy::Mount>{
                {"/home/u/p", "/workspace/mount/read/current", Access::kReadOnly},
                {"/srv/data", "/workspace/mount/read/abs/srv/data", Access::kReadOnly},
                {"/home/u/p", "/workspace/mount/write/current", Access::kReadWrite},
                {"/srv/out", "/workspace/mount/write/abs/srv/out", Access::kReadWrite}}));
  EXPECT_EQ(ToRequest(spec, {}).status().message(),
            "sandbox.permissions.filesystem.mounts.read: `.` is the client's directory, and the "
            "client named none");
}

TEST(ToRequestTest, ExportsOnlyWhatTheClientHasAndNoSecretWithoutAGrant) {
  SandboxSpec spec = Standard();
  spec.env = {{"ENDPOINT", "BASE_URL"}, {"GONE", "NOT_SET"}, {"KEY", "OPENAI_API_KEY"}};
  RequestContext context = {.host_env = {{"BASE_URL", "u"}, {"OTHER", "x"}}};
  EXPECT_EQ(ToRequest(spec, context)->env, (std::map<std::string, std::string>{{"ENDPOINT", "u"}}));

  context.host_env["OPENAI_API_KEY"] = "k";
  const Result<policy::SandboxRequest> refused = ToRequest(spec, context);
  EXPECT_EQ(refused.status(),
            PermissionDenied("sandbox.env.KEY: the variable OPENAI_API_KEY looks like a secret and "
                             "needs an operator grant"));
  context.granted_env = {"OPENAI_API_KEY"};
  EXPECT_EQ(ToRequest(spec, context)->env.at("KEY"), "k");
}

TEST(ToRequestTest, KnowsASecretByItsName) {
  for (const char* name : {"X_API_KEY", "GH_TOKEN", "AWS_REGION", "SSH_AUTH_SOCK", "A_SECRET"}) {
    EXPECT_TRUE(ceiling::LooksSecret(name)) << name;
  }
  for (const char* name : {"PATH", "TOKENS", "MY_AWS_X", "KEYS"}) {
    EXPECT_FALSE(ceiling::LooksSecret(name)) << name;
  }
}

TEST(ToRequestTest, ReadsDangerAsTheRequestThatItIs) {
  SandboxSpec spec = Standard();
  spec.mode = SandboxMode::kDangerFullAccess;
  const Result<policy::SandboxRequest> request = ToRequest(spec, {});
  ASSERT_TRUE(request.ok()) << request.status().message();
  EXPECT_EQ(request->mode, policy::Mode::kDangerFullAccess);
}

TEST(ToRequestTest, NamesSystemToolsInEveryMode) {
  SandboxSpec spec;
  spec.system_tools = {"sh", "/usr/bin/git"};
  EXPECT_EQ(ToRequest(spec, {})->executables_mode, policy::ExecutablesMode::kExplicit);
  EXPECT_EQ(ToRequest(spec, {})->executables, spec.system_tools);
  spec.system_tools_mode = policy::ExecutablesMode::kStandard;
  EXPECT_EQ(ToRequest(spec, {})->executables, spec.system_tools);
}

TEST(ToRequestTest, TheBundlesProgramsAreMountedWhereTheAgentCannotChangeThem) {
  SandboxSpec spec;
  spec.exec = {"bin", "bin/in-it", "run.sh", "run.sh"};
  const policy::Mount bin = {"/store/b/bin", "/bundle/bin", policy::Access::kReadOnly, true};
  const policy::Mount run = {"/store/b/run.sh", "/bundle/run.sh", policy::Access::kReadOnly, true};
  for (const auto mode : {policy::ExecutablesMode::kExplicit, policy::ExecutablesMode::kStandard}) {
    spec.system_tools_mode = mode;
    const auto request = ToRequest(spec, {.bundle_directory = "/store/b"});
    ASSERT_TRUE(request.ok()) << request.status().ToString();
    EXPECT_EQ(request->mounts, (std::vector<policy::Mount>{bin, run}));
    EXPECT_TRUE(request->executables.empty());
  }
  EXPECT_EQ(ToRequest(spec, {}).status().code(), Code::kInvalidArgument);
}

TEST(ToRequestTest, AReadOnlyWorkspaceHasTheBundlesProgramsInTheirPlaces) {
  SandboxSpec spec;
  spec.exec = {"bin/run.sh"};
  const RequestContext context = {.bundle_directory = "/store/b", .bundle_as_workspace = true};
  EXPECT_EQ(ToRequest(spec, context)->workspace, "");
  spec.mode = SandboxMode::kReadOnly;
  for (const auto mode : {policy::ExecutablesMode::kExplicit, policy::ExecutablesMode::kStandard}) {
    spec.system_tools_mode = mode;
    const auto request = ToRequest(spec, context);
    ASSERT_TRUE(request.ok()) << request.status().ToString();
    EXPECT_EQ(request->workspace, "/store/b");
    EXPECT_EQ(request->executables, (std::vector<std::string>{"/workspace/bin/run.sh"}));
    EXPECT_EQ(request->mounts.size(), 1u);
  }
}

}  // namespace
}  // namespace odyssey::dialect
