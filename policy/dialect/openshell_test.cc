#include "policy/dialect/openshell.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/fakes/fake_policy_host.h"

namespace odyssey::dialect::openshell {
namespace {

using fakes::FakePolicyHost;
using fakes::PolicyReading;
using fakes::ReadPolicyOn;
using policy::Access;

PolicyReading Read(const std::string& text, const FakePolicyHost& host = {}) {
  return ReadPolicyOn(host, text, "p.yaml");
}

std::string Filesystem(const std::string& lists) {
  return "version: 1\nfilesystem_policy: {" + lists + "}\n";
}

policy::Mount Shown(const std::string& path, Access access) {
  return {
      .source = path, .target = path, .access = access, .executable = access == Access::kReadOnly};
}

TEST(OpenShellTest, AnEmptyPolicyIsABareCell) {
  const PolicyReading reading = Read("version: 1\n");
  ASSERT_EQ(reading.problems, "");
  EXPECT_EQ(reading.policy->dialect, Dialect::kOpenShell);
  EXPECT_EQ(reading.policy->request, policy::SandboxRequest{});
}

TEST(OpenShellTest, PathsOfTheSystemAreTheCellsOwnAndOthersAreMounts) {
  const PolicyReading reading = Read(Filesystem(
      "read_only: [/usr, /lib, /etc, /var/log, /proc, /dev/urandom, /opt/tool, /srv/data/], "
      "read_write: [/tmp, /dev/null, /srv/out, /tmp/shared]"));
  ASSERT_EQ(reading.problems, "");
  EXPECT_EQ(reading.warnings, "");
  EXPECT_EQ(reading.policy->request.mounts,
            (std::vector<policy::Mount>{Shown("/srv/data", Access::kReadOnly),
                                        Shown("/srv/out", Access::kReadWrite),
                                        Shown("/tmp/shared", Access::kReadWrite)}));
}

TEST(OpenShellTest, LinksAreFollowedInSourcesOnly) {
  FakePolicyHost host;
  host.links["/srv/data"] = "/mnt/disk/data";
  const PolicyReading reading = Read(Filesystem("read_only: [/srv/data]"), host);
  ASSERT_EQ(reading.policy->request.mounts.size(), 1u);
  EXPECT_EQ(reading.policy->request.mounts[0].source, "/mnt/disk/data");
  EXPECT_EQ(reading.policy->request.mounts[0].target, "/srv/data");
}

TEST(OpenShellTest, LinksThatACellCouldHaveMadeAreRefused) {
  FakePolicyHost host;
  host.links["/srv/data/out"] = "/home/u/.ssh";
  host.planted = {"/srv/data/out"};
  const PolicyReading reading = Read(Filesystem("read_write: [/srv/ok, /srv/data/out/deep]"), host);
  EXPECT_EQ(reading.policy, std::nullopt);
  EXPECT_NE(reading.problems.find("read_write[1]: /srv/data/out: is a symbolic link"),
            std::string::npos)
      << reading.problems;
  EXPECT_NE(reading.problems.find("/home/u/.ssh/deep"), std::string::npos) << reading.problems;
}

TEST(OpenShellTest, RefusesPathsThatAreNone) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"read_write: [/]", "read_write[0]: read-write path is overly broad"},
      {"read_write: [//.//]", "read_write[0]: read-write path is overly broad"},
      {"read_only: [/]", "read_only[0]: is the whole host"},
      {"read_only: [/usr/../etc]", "read_only[0]: must not hold `..`: `/usr/../etc`"},
      {"read_only: [srv]", "read_only[0]: must be an absolute path: `srv`"},
      {"read_only: ['']", "read_only[0]: must be an absolute path"},
      {"read_only: [/srv/*]", "read_only[0]: must be a path, not a pattern"},
      {"read_only: [\"/a\\x07\"]", "read_only[0]: must not hold control characters"},
      {"read_only: [/" + std::string(4096, 'a') + "]", "read_only[0]: must have at most 4096"},
      {"read_only: /usr", "read_only: must be a list, not a string (`/usr`)"},
      {"read_write: [/usr/lib]", "read_write[0]: `/usr/lib` is never writable"},
      {"read_write: [/etc/x]", "read_write[0]: `/etc/x` is never writable"},
      {"read_write: [/proc]", "read_write[0]: `/proc` is never writable"},
      {"read_only: [/sys/class]", "read_only[0]: `/sys/class` is never shown"},
      {"read_only: [/dev/nvidia0]", "read_only[0]: `/dev/nvidia0` is never shown"},
      {"read_write: [/run/x.sock]", "read_write[0]: `/run/x.sock` is never shown"},
      {"read_only: [/home]", "read_only[0]: `/home` is too broad"},
      {"include_workdir: 1", "include_workdir: must be true or false"},
      {"read: []", "read: unknown field `read`"},
  };
  for (const auto& [lists, problem] : cases) {
    const PolicyReading reading = Read(Filesystem(lists));
    EXPECT_EQ(reading.problems.rfind("p.yaml:2: filesystem_policy." + problem, 0), 0u)
        << lists << "\n  " << reading.problems;
    EXPECT_FALSE(reading.policy);
  }
}

TEST(OpenShellTest, HasAtMost256Paths) {
  const auto with = [](int count) {
    std::string paths;
    for (int i = 0; i < count; ++i) paths += "/srv/d" + std::to_string(i) + ", ";
    return Read(Filesystem("read_only: [" + paths + "]")).problems;
  };
  EXPECT_EQ(with(256), "");
  EXPECT_EQ(with(257),
            "p.yaml:2: filesystem_policy: 257 paths: at most 256 in read_only and read_write "
            "together");
}

TEST(OpenShellTest, APathInsideAnotherOneIsAPartWithItsOwnAccess) {
  const PolicyReading reading = Read(
      Filesystem("read_only: [/srv/a, /srv/w/x], read_write: [/srv/w, /srv/a/out, /srv/a/out/b]"));
  ASSERT_EQ(reading.problems, "");
  EXPECT_EQ(reading.warnings, "");
  EXPECT_EQ(reading.policy->request.mounts,
            (std::vector<policy::Mount>{
                Shown("/srv/a", Access::kReadOnly), Shown("/srv/w/x", Access::kReadOnly),
                Shown("/srv/w", Access::kReadWrite), Shown("/srv/a/out", Access::kReadWrite)}));
}

TEST(OpenShellTest, APathInsideAnotherOneAddsNothing) {
  const PolicyReading reading = Read(Filesystem(
      "read_only: [/srv/a, /srv/r, /srv/r/b, /srv/a], read_write: [/srv/w, /srv/w/y, /srv/a]"));
  ASSERT_EQ(reading.problems, "");
  EXPECT_EQ(reading.policy->request.mounts,
            (std::vector<policy::Mount>{Shown("/srv/r", Access::kReadOnly),
                                        Shown("/srv/w", Access::kReadWrite),
                                        Shown("/srv/a", Access::kReadWrite)}));
  EXPECT_NE(reading.warnings.find("read_only[0]: `/srv/a` is writable all the same: it is in "
                                  "`read_write` too"),
            std::string::npos)
      << reading.warnings;
}

TEST(OpenShellTest, AMissingPathIsLeftOutUnlessItIsRequired) {
  FakePolicyHost host;
  host.missing = {"/app", "/sandbox"};
  const std::string text = "version: 1\nfilesystem_policy:\n  read_only: [/app, /srv]\n";
  const PolicyReading lenient = Read(text + "  read_write: [/sandbox]\n", host);
  ASSERT_EQ(lenient.problems, "");
  EXPECT_EQ(lenient.policy->request.mounts.size(), 1u);
  EXPECT_EQ(lenient.warnings,
            "p.yaml:3: filesystem_policy.read_only[0]: `/app` does not exist on this host: left "
            "out\n"
            "p.yaml:4: filesystem_policy.read_write[0]: `/sandbox` does not exist on this host: "
            "left out; the working directory of a cell is /workspace");
  EXPECT_EQ(Read(text + "landlock: {compatibility: hard_requirement}\n", host).problems,
            "p.yaml:3: filesystem_policy.read_only[0]: `/app` does not exist on this host, and "
            "landlock.compatibility is hard_requirement");
}

TEST(OpenShellTest, TheClientsDirectoryIsTheWorkspaceIfAskedFor) {
  EXPECT_EQ(Read(Filesystem("include_workdir: true")).policy->request.workspace, "/home/u/project");
  EXPECT_EQ(Read(Filesystem("include_workdir: false")).policy->request.workspace, "");
  FakePolicyHost host;
  host.cwd = "";
  EXPECT_EQ(
      Read(Filesystem("include_workdir: true"), host).problems,
      "p.yaml:2: filesystem_policy.include_workdir: is the client's directory, and the client "
      "named none");
}

TEST(OpenShellTest, LandlockIsRequiredUnlessBestEffortIsAskedFor) {
  const auto landlock = [](const std::string& text) {
    return Read("version: 1\n" + text).policy->request.landlock;
  };
  EXPECT_EQ(landlock(""), policy::Landlock::kHardRequirement);
  EXPECT_EQ(landlock("landlock: {}"), policy::Landlock::kHardRequirement);
  EXPECT_EQ(landlock("landlock: {compatibility: hard_requirement}"),
            policy::Landlock::kHardRequirement);
  EXPECT_EQ(landlock("landlock: {compatibility: best_effort}"), policy::Landlock::kBestEffort);
  for (const char* value : {"hard", "Best_effort", "'best_effort '", "none"}) {
    const std::string problems =
        Read("version: 1\nlandlock: {compatibility: " + std::string(value) + "}").problems;
    EXPECT_NE(problems.find("landlock.compatibility: unknown variant `"), std::string::npos);
    EXPECT_NE(problems.find("expected one of `best_effort`, `hard_requirement`"),
              std::string::npos);
  }
}

TEST(OpenShellTest, TheUserIsANumberAndNeverRoot) {
  const auto process = [](const std::string& text) {
    return Read("version: 1\nprocess: {" + text + "}");
  };
  EXPECT_EQ(process("run_as_user: sandbox, run_as_group: sandbox").policy->request.user, 0u);
  EXPECT_EQ(process("run_as_user: 4242").policy->request.user, 4242u);
  EXPECT_EQ(process("run_as_user: '4242', run_as_group: 4242").policy->request.user, 4242u);
  EXPECT_EQ(process("run_as_user: 4294967294").policy->request.user, 4294967294u);
  for (const char* user : {"root", "0", "'0'", "-1", "4294967295", "1.5", "agent", "''", "true"}) {
    const std::string problems = process("run_as_user: " + std::string(user)).problems;
    EXPECT_EQ(problems.rfind("p.yaml:2: process.run_as_user: must be 'sandbox' or a numeric "
                             "UID/GID in range 1 to 4294967294",
                             0),
              0u)
        << user << ": " << problems;
  }
  EXPECT_NE(process("run_as_user: 5, run_as_group: 6").problems.find("process.run_as_group: "),
            std::string::npos);
  EXPECT_NE(process("run_as_group: 0").problems, "");
}

TEST(OpenShellTest, UnknownKeysAndVersionsAreErrors) {
  EXPECT_EQ(Read("version: 2\nprocess: {}\n").problems,
            "p.yaml:1: version: must be the number 1, not 2");
  EXPECT_EQ(Read("process: {}\n").problems, "p.yaml:1: version: missing field `version`");
  EXPECT_NE(
      Read("version: 1\nproces: {}\nlandlock: {}\n")
          .problems.find("p.yaml:2: proces: unknown field `proces`, expected one of `version`"),
      std::string::npos);
  EXPECT_NE(Read("version: 1\nlandlock: {abi: 2}\n").problems.find("landlock.abi: unknown field"),
            std::string::npos);
}

TEST(OpenShellTest, RoutesOfInferenceAreDeprecated) {
  const PolicyReading reading = Read("version: 1\ninference: {allowed_routes: [local]}\n");
  EXPECT_EQ(reading.problems, "");
  EXPECT_EQ(reading.warnings,
            "p.yaml:2: inference: deprecated: routes of inference requests are no part of a "
            "policy");
}

TEST(OpenShellTest, ReportsEveryProblemInTheOrderOfLines) {
  const PolicyReading reading = Read(
      "version: 1\n"
      "network_policies: {a: {endpoints: [{host: '*', port: 0}], binaries: []}}\n"
      "process: {run_as_user: root}\n"
      "filesystem_policy: {read_write: [/]}\n");
  std::string lines;
  for (size_t at = 0; at < reading.problems.size(); ++at) {
    if (at == 0 || reading.problems[at - 1] == '\n') lines += reading.problems.substr(at, 9) + " ";
  }
  EXPECT_EQ(lines, "p.yaml:2: p.yaml:2: p.yaml:3: p.yaml:4: ");
}

}  // namespace
}  // namespace odyssey::dialect::openshell
