#include "policy/dialect/odek.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "policy/dialect/odek_limits.h"
#include "policy/model/policy_keys.h"
#include "tests/fakes/fake_policy_host.h"

namespace odyssey::dialect::odek {
namespace {

using fakes::FakePolicyHost;
using fakes::PolicyReading;
using fakes::ReadPolicyOn;
using policy::Access;

PolicyReading Read(const std::string& text, const FakePolicyHost& host = FakePolicyHost(),
                   const std::string& path = "odek.json") {
  return ReadPolicyOn(host, text, path);
}

// Of a project at `cwd` with this one volume: its mounts as text, or what was said.
std::string Volume(const std::string& volume, FakePolicyHost host = FakePolicyHost()) {
  const PolicyReading reading = Read("{\"sandbox_volumes\": [\"" + volume + "\"]}", host);
  if (!reading.policy) return reading.problems;
  std::string out = reading.warnings;
  for (const policy::Mount& mount : reading.policy->request.mounts) {
    out += mount.source + ":" + mount.target;
    out += mount.access == Access::kReadOnly ? ":ro" : ":rw";
  }
  return out;
}

std::string VolumeIn(const std::string& cwd, const std::string& volume) {
  FakePolicyHost host = FakePolicyHost();
  host.cwd = cwd;
  return Volume(volume, host);
}

TEST(OdekTest, AnEmptyConfigurationIsTheProjectInAClosedCell) {
  const PolicyReading reading = Read("{}");
  ASSERT_EQ(reading.problems, "");
  EXPECT_EQ(reading.policy->dialect, Dialect::kOdek);
  policy::SandboxRequest expected;
  expected.workspace = "/home/u/project";
  EXPECT_EQ(reading.policy->request, expected);
  EXPECT_EQ(reading.policy->request.network, policy::Network::kNone);
}

TEST(OdekTest, ReadsEveryKey) {
  const PolicyReading reading = Read(R"({
    "sandbox": true, "sandbox_network": "bridge", "sandbox_readonly": true,
    "sandbox_memory": "512m", "sandbox_cpus": "0.5", "sandbox_user": "1234:1234",
    "sandbox_env": {"LANG": "C", "HERE": "${PLACE}/x"},
    "sandbox_volumes": ["./data:/data:ro", "out:/out"],
    "model": "m", "dangerous": {"action": "prompt"}
  })",
                                     [] {
                                       FakePolicyHost host = FakePolicyHost();
                                       host.environment["PLACE"] = "home";
                                       return host;
                                     }());
  ASSERT_EQ(reading.problems, "");
  policy::SandboxRequest expected;
  expected.mode = policy::Mode::kReadOnly;
  expected.network = policy::Network::kEgress;
  expected.egress = egress::PublicPolicy("sandbox_network");
  expected.mounts = {{"/home/u/project/data", "/data", Access::kReadOnly},
                     {"/home/u/project/out", "/out", Access::kReadWrite}};
  expected.env = {{"HERE", "home/x"}, {"LANG", "C"}};
  expected.limits = {.memory_bytes = uint64_t{512} << 20, .cpu_millis = 500};
  expected.workspace = "/home/u/project";
  expected.user = 1234;
  EXPECT_EQ(reading.policy->request, expected);
  EXPECT_EQ(reading.policy->elsewhere,
            (std::vector<std::string>{"model: odek's own", "dangerous: odek's own"}));
}

TEST(OdekTest, OnlyNoneAndBridgeAreNetworks) {
  const auto network = [](const std::string& value) {
    const PolicyReading reading = Read("{\"sandbox_network\": \"" + value + "\"}");
    const bool open = IsPublic(reading.policy->request.egress);
    return std::string(open ? "public" : "none") + " " + reading.warnings;
  };
  EXPECT_EQ(network("none"), "none ");
  EXPECT_EQ(network(""), "none ");
  EXPECT_EQ(network("bridge"), "public ");
  EXPECT_EQ(network("host"),
            "none odek.json:1: sandbox_network: `host` destroys container isolation. Forcing "
            "'none'.");
  for (const char* value : {"container:foo", "bogus", "Bridge"}) {
    EXPECT_EQ(network(value), "none odek.json:1: sandbox_network: `" + std::string(value) +
                                  "` is not allowed. Only 'none' and 'bridge' are permitted. "
                                  "Forcing 'none'.");
  }
}

TEST(OdekTest, AProjectMayNotWeaken) {
  const PolicyReading project = Read("{\"sandbox\": false,\n\"sandbox_readonly\": false}");
  EXPECT_EQ(project.warnings,
            "odek.json:1: sandbox: a project's file cannot turn it off: ignored\n"
            "odek.json:2: sandbox_readonly: a project's file cannot turn it off: ignored");
  FakePolicyHost host = FakePolicyHost();
  host.files["/home/u/.odek/config.json"] = R"({"sandbox_readonly": true})";
  const PolicyReading over = Read("{\"sandbox_readonly\": false}", host);
  EXPECT_EQ(over.policy->request.mode, policy::Mode::kReadOnly);
  EXPECT_EQ(over.policy->also_read, std::vector<std::string>{"/home/u/.odek/config.json"});
  host.environment["ODEK_SANDBOX_READONLY"] = "false";
  EXPECT_EQ(Read("{}", host).policy->request.mode, policy::Mode::kWorkspaceWrite);

  const PolicyReading user =
      Read("{\"sandbox\": false}", FakePolicyHost(), "/home/u/.odek/config.json");
  EXPECT_EQ(user.warnings,
            "/home/u/.odek/config.json:1: sandbox: false is ignored: commands run in a cell or not "
            "at all");
}

TEST(OdekTest, TheEnvironmentIsOverTheProjectAndThatOverTheUser) {
  FakePolicyHost host = FakePolicyHost();
  host.files["/home/u/.odek/config.json"] =
      R"({"sandbox_memory": "1g", "sandbox_cpus": "1", "sandbox_network": "bridge",
          "sandbox_user": "7", "sandbox_env": {"A": "user", "B": "user"}})";
  const std::string project =
      R"({"sandbox_memory": "2g", "sandbox_cpus": "2", "sandbox_network": "none",
          "sandbox_env": {"A": "project"}})";
  host.environment = {{"ODEK_SANDBOX_CPUS", "3"}, {"ODEK_SANDBOX_NETWORK", "bridge"}};
  const PolicyReading reading = Read(project, host);
  const policy::SandboxRequest& request = reading.policy->request;
  EXPECT_EQ(request.limits.memory_bytes, uint64_t{2} << 30);
  EXPECT_EQ(request.limits.cpu_millis, 3000u);
  EXPECT_TRUE(IsPublic(request.egress));
  EXPECT_EQ(request.user, 7u);
  EXPECT_EQ(request.env, (std::map<std::string, std::string>{{"A", "project"}}));
  EXPECT_EQ(reading.policy->also_read,
            (std::vector<std::string>{"/home/u/.odek/config.json", "ODEK_SANDBOX_NETWORK",
                                      "ODEK_SANDBOX_CPUS"}));

  host.environment["ODEK_SANDBOX"] = "perhaps";
  host.environment["ODEK_SANDBOX_MEMORY"] = "much";
  EXPECT_EQ(Read(project, host).problems,
            "environment: ODEK_SANDBOX: must be true or false: `perhaps`\n"
            "environment: ODEK_SANDBOX_MEMORY: must be a size such as `512m` or `2g`, from `16m` "
            "to `16t`: `much`");
  host.environment.clear();
  host.files["/home/u/.odek/config.json"] = "{\n\"sandbox_cpus\": 2}";
  EXPECT_EQ(
      Read(project, host).problems.rfind("/home/u/.odek/config.json:2: sandbox_cpus: must", 0), 0u);
}

TEST(OdekTest, FlagsAreOverTheEnvironment) {
  FakePolicyHost host = FakePolicyHost();
  host.environment = {{"ODEK_SANDBOX_CPUS", "3"}, {"ODEK_SANDBOX_IMAGE", "env:1"}};
  host.odek_flags = {{"sandbox_cpus", "4"},        {"sandbox_memory", "1g"},
                     {"sandbox_readonly", "true"}, {"sandbox_network", "bridge"},
                     {"sandbox_image", "flag:1"},  {"sandbox_user", "node"}};
  const PolicyReading reading =
      Read(R"({"sandbox_memory": "2g", "sandbox_image": "project:1"})", host);
  ASSERT_EQ(reading.problems, "");
  const policy::SandboxRequest& request = reading.policy->request;
  EXPECT_EQ(request.limits.cpu_millis, 4000u);
  EXPECT_EQ(request.limits.memory_bytes, uint64_t{1} << 30);
  EXPECT_EQ(request.mode, policy::Mode::kReadOnly);
  EXPECT_TRUE(IsPublic(request.egress));
  EXPECT_EQ(request.image.reference, "flag:1");
  EXPECT_EQ(request.image.user, "node");

  host.odek_flags = {{"sandbox_cpus", "many"}};
  EXPECT_EQ(Read("{}", host).problems,
            "--sandbox-cpus: must be a number of cores such as `0.5` or `2`, from `0.01` to "
            "`1024`: `many`");
}

TEST(OdekTest, AnEmptyTextIsNotSaid) {
  const std::string all =
      R"({"sandbox_memory": "128m", "sandbox_cpus": "2", "sandbox_network": "bridge",
          "sandbox_user": "7", "sandbox_readonly": true})";
  const std::string none =
      R"({"sandbox_memory": "", "sandbox_cpus": "", "sandbox_network": "", "sandbox_user": "",
          "sandbox_image": ""})";
  FakePolicyHost host = FakePolicyHost();
  const policy::SandboxRequest expected = Read(all, host).policy->request;
  for (const char* name :
       {"ODEK_SANDBOX", "ODEK_SANDBOX_READONLY", "ODEK_SANDBOX_IMAGE", "ODEK_SANDBOX_NETWORK",
        "ODEK_SANDBOX_MEMORY", "ODEK_SANDBOX_CPUS", "ODEK_SANDBOX_USER"}) {
    host.environment[name] = "";
  }
  const PolicyReading environment = Read(all, host);
  ASSERT_EQ(environment.problems, "");
  EXPECT_EQ(environment.policy->request, expected);
  EXPECT_EQ(environment.policy->also_read, std::vector<std::string>());

  host.files["/home/u/.odek/config.json"] = all;
  EXPECT_EQ(Read(none, host).policy->request, expected);
}

TEST(OdekTest, TheImageIsTheRootAndHasUsersOfItsOwn) {
  const PolicyReading reading =
      Read("{\"sandbox_image\": \"node:20\", \"sandbox_user\": \"root:node\"}");
  EXPECT_EQ(reading.problems, "");
  const policy::ImageRoot image = {.reference = "node:20", .user = "root:node"};
  EXPECT_EQ(reading.policy->request.image, image);
  EXPECT_EQ(reading.policy->request.user, 0u);
  EXPECT_EQ(Read("{\"sandbox_image\": \"\"}").problems, "");
  // There is a Dockerfile.odek: what runs in its image says so.
  EXPECT_EQ(Read("{}").warnings, "");
}

TEST(OdekTest, VolumesOfTheProjectAreMounts) {
  EXPECT_EQ(Volume("extra:/c"), "/home/u/project/extra:/c:rw");
  EXPECT_EQ(Volume("./extra/:/c/:ro"), "/home/u/project/extra:/c:ro");
  EXPECT_EQ(Volume("a/../b:/c:rw"), "/home/u/project/b:/c:rw");
  EXPECT_EQ(Volume("foo..bar:/c"), "/home/u/project/foo..bar:/c:rw");
  EXPECT_EQ(VolumeIn("/workspace", "/workspace/extra:/c"), "/workspace/extra:/c:rw");
  for (const char* cwd : {"/home/alice/project", "/root/p", "/var/lib/app", "/run/app"}) {
    EXPECT_EQ(VolumeIn(cwd, "x:/c"), std::string(cwd) + "/x:/c:rw");
  }
}

TEST(OdekTest, HostPathsOutsideTheProjectAreLeftOutWithAWarning) {
  const auto dropped = [](const std::string& volume, const std::string& why) {
    return "odek.json:1: sandbox_volumes[0]: `" + volume + "` is left out: " + why;
  };
  EXPECT_EQ(Volume(" :/c"), dropped(" :/c", "(empty host path)"));
  EXPECT_EQ(Volume(":/c"), dropped(":/c", "(empty host path)"));
  EXPECT_EQ(Volume("../x:/c"), dropped("../x:/c", "(contains ..)"));
  EXPECT_EQ(Volume("/etc:/c"), dropped("/etc:/c",
                                       "(host path /etc is outside working directory "
                                       "/home/u/project)"));
  EXPECT_EQ(Volume("/home/u/project2:/c"),
            dropped("/home/u/project2:/c",
                    "(host path /home/u/project2 is outside working directory /home/u/project)"));
  FakePolicyHost host = FakePolicyHost();
  host.links = {{"/home/u/project/link", "/home/u/project/data"}, {"/home/u/project/out", "/etc"}};
  EXPECT_EQ(Volume("link:/c", host), dropped("link:/c", "(symlinks are not allowed)"));
  EXPECT_EQ(Volume("out/ssh:/c", host),
            dropped("out/ssh:/c",
                    "(resolved host path /etc/ssh escapes working directory "
                    "/home/u/project)"));
  EXPECT_EQ(VolumeIn("/", "/etc/secret:/c"),
            dropped("/etc/secret:/c", "rejecting forbidden volume mount (host path /etc/secret)"));
  EXPECT_EQ(VolumeIn("/", "/var/run/docker.sock:/c"),
            dropped("/var/run/docker.sock:/c",
                    "rejecting forbidden volume mount (host path /var/run/docker.sock)"));
}

TEST(OdekTest, TargetsAndOptionsAreChecked) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"x:/proc", "the target /proc is inside /proc, the cell's own"},
      {"x:/proc/../proc/self", "the target /proc/../proc/self must be an absolute path"},
      {"x:/workspace/.git/hooks", "is inside /workspace, the cell's own"},
      {"x:/tmp:exec", "the target /tmp would hide the cell's own /tmp"},
      {"x:/usr/local", "is inside /usr, the cell's own"},
      {"x:/", "would hide the cell's own /"},
      {"x:c", "the target c must be an absolute path without `..`"},
      {"x:", "the target  must be an absolute path"},
      {"x:/c:exec", "the option exec is not available; `ro` and `rw` are"},
      {"x:/c:shared", "the option shared is not available"},
      {"x:/c:rshared", "the option rshared is not available"},
      {"x:/c:ro,z", "the option ro,z is not available"},
      {"x", "expected HOST:TARGET, HOST:TARGET:ro or HOST:TARGET:rw"},
      {"x:/c:", "expected HOST:TARGET"},
      {"x:/c:ro:rw", "expected HOST:TARGET"},
  };
  for (const auto& [volume, problem] : cases) {
    const std::string said = Volume(volume);
    EXPECT_EQ(said.rfind("odek.json:1: sandbox_volumes[0]: `" + volume + "`: ", 0), 0u) << said;
    EXPECT_NE(said.find(problem), std::string::npos) << said;
  }
}

TEST(OdekTest, VariablesAreExpandedAndSecretsNeedAGrant) {
  FakePolicyHost host = FakePolicyHost();
  host.environment = {{"GH_TOKEN", "t"}, {"A", "a"}};
  const auto env = [&](const std::string& value) {
    return Read("{\"sandbox_env\": {\"X\": \"" + value + "\"}}", host);
  };
  EXPECT_EQ(env("${A}-${A}$").policy->request.env.at("X"), "a-a$");
  EXPECT_EQ(env("${GH_TOKEN}").problems,
            "odek.json:1: sandbox_env.X: the variable GH_TOKEN looks like a secret and needs an "
            "operator grant: `${GH_TOKEN}`");
  EXPECT_EQ(env("a${NOT_SET}").warnings,
            "odek.json:1: sandbox_env.X: left out: there is no variable NOT_SET here");
  EXPECT_TRUE(env("a${NOT_SET}").policy->request.env.empty());
  EXPECT_NE(env("${A").problems.find("expected the name of a variable"), std::string::npos);
  EXPECT_NE(env("${A-b}").problems.find("expected the name of a variable"), std::string::npos);
  host.granted_env = {"GH_TOKEN"};
  EXPECT_EQ(env("${GH_TOKEN}").policy->request.env.at("X"), "t");
  EXPECT_NE(Read("{\"sandbox_env\": {\"1A\": \"x\"}}").problems, "");
}

TEST(OdekTest, NamesEveryProblem) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{\"sandbox_netwrk\": \"none\"}", "sandbox_netwrk: unknown field `sandbox_netwrk`"},
      {"{\"sandbox\": \"no\", \"sandbox_cpus\": \"1\"}", "sandbox: must be true or false"},
      {"{\"sandbox_memory\": 512}",
       "sandbox_memory: must be a string, not a number (`512`): put it in quotes"},
      {"{\"sandbox_memory\": \"lots\"}", "sandbox_memory: must be a size such as"},
      {"{\"sandbox_memory\": \"15m\"}", "from `16m` to `16t`: `15m`"},
      {"{\"sandbox_memory\": \"17t\"}", "from `16m` to `16t`: `17t`"},
      {"{\"sandbox_cpus\": \"0\"}", "sandbox_cpus: must be a number of cores"},
      {"{\"sandbox_cpus\": \"0.001\"}", "from `0.01` to `1024`: `0.001`"},
      {"{\"sandbox_cpus\": \"1025\"}", "from `0.01` to `1024`: `1025`"},
      {"{\"sandbox_user\": \"root\"}", "sandbox_user: must be a uid that is not root's"},
      {"{\"sandbox_user\": \"0:0\"}", "sandbox_user: must be a uid that is not root's"},
      {"{\"sandbox_env\": [\"A\"]}", "sandbox_env: must be a map"},
      {"{\"sandbox_env\": {\"A\": 1}}", "sandbox_env.A: must be a string"},
      {"{\"sandbox_env\": {\"ODYSSEY_RUN\": \"x\"}}",
       "sandbox_env.ODYSSEY_RUN: every command gets its own"},
      {"{\"sandbox_volumes\": \"a:/b\"}", "sandbox_volumes: must be a list"},
      {"{\"sandbox_volumes\": [1]}", "sandbox_volumes[0]: must be a string"},
      {"{\"sandbox_cpus\": \"1\", \"sandbox_cpus\": \"2\"}", "duplicate key `sandbox_cpus`"},
  };
  for (const auto& [text, problem] : cases) {
    EXPECT_EQ(Read(text).problems.rfind("odek.json:1: ", 0), 0u) << Read(text).problems;
    EXPECT_NE(Read(text).problems.find(problem), std::string::npos)
        << text << "\n  " << Read(text).problems;
  }
  FakePolicyHost host = FakePolicyHost();
  host.cwd = "";
  EXPECT_NE(Read("{}", host).problems.find("the client named none"), std::string::npos);
}

TEST(OdekTest, AValueThatAnotherLayerReplacesIsCheckedToo) {
  FakePolicyHost host = FakePolicyHost();
  host.files = {{"/home/u/.odek/config.json",
                 "{\"sandbox_memory\": \"lots\",\n\"sandbox_env\": {\"1A\": \"x\"}}"}};
  host.environment = {{"ODEK_SANDBOX_CPUS", "1"}, {"ODEK_SANDBOX_USER", "7"}};
  const PolicyReading reading = Read(
      "{\"sandbox_memory\": \"1g\", \"sandbox_env\": {},\n\"sandbox_cpus\": \"two\",\n"
      "\"sandbox_user\": \"root x\"}",
      host);
  EXPECT_EQ(reading.problems,
            "/home/u/.odek/config.json:1: sandbox_memory: must be a size such as `512m` or `2g`, "
            "from `16m` to `16t`: `lots`\n"
            "/home/u/.odek/config.json:2: sandbox_env.1A: the name of a variable has letters, "
            "digits and underscores\n"
            "odek.json:2: sandbox_cpus: must be a number of cores such as `0.5` or `2`, from "
            "`0.01` to `1024`: `two`\n"
            "odek.json:3: sandbox_user: must be `USER` or `USER:GROUP`, each a name or a number: "
            "`root x`");
}

std::optional<uint64_t> ParseMemory(const std::string& text) {
  return ParseLimit(policy::LimitNamed("memory_bytes"), text);
}

std::optional<uint64_t> ParseCpus(const std::string& text) {
  return ParseLimit(policy::LimitNamed("cpu_millis"), text);
}

TEST(OdekLimitsTest, ReadsWhatDockerReads) {
  EXPECT_EQ(ParseMemory("512m"), uint64_t{512} << 20);
  EXPECT_EQ(ParseMemory("2G"), uint64_t{2} << 30);
  EXPECT_EQ(ParseMemory("1.5gib"), uint64_t{3} << 29);
  EXPECT_EQ(ParseMemory("64KB"), 65536u);
  EXPECT_EQ(ParseMemory("1048576"), 1048576u);
  for (const char* text : {"", "m", "0", "0m", "-1m", "1x", "1 m", "1mm", "17t", "1.m", ".5g",
                           "99999999999999999999"}) {
    EXPECT_FALSE(ParseMemory(text)) << text;
  }
  EXPECT_EQ(ParseCpus("0.5"), 500u);
  EXPECT_EQ(ParseCpus("2"), 2000u);
  EXPECT_EQ(ParseCpus("1.2345"), 1234u);
  for (const char* text : {"", "0", "0.0001", "-1", "1025", "1.5.2", "two"}) {
    EXPECT_FALSE(ParseCpus(text)) << text;
  }
  EXPECT_EQ(ParseUser("1000"), 1000u);
  EXPECT_EQ(ParseUser("1000:1000"), 1000u);
  for (const char* text : {"", "0", "root", "1000:", "1000:0", "1000:1001", "4294967295"}) {
    EXPECT_FALSE(ParseUser(text)) << text;
  }
}

}  // namespace
}  // namespace odyssey::dialect::odek
