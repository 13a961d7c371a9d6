// The keys of `sandbox` that the formats do not have and a cell does.

#include "policy/dialect/sandbox_section.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/fakes/fake_policy_host.h"
#include "tests/testing/refusal.h"

namespace odyssey::dialect {
namespace {

using fakes::FakePolicyHost;
using fakes::PolicyReading;
using fakes::ReadPolicyOn;

PolicyReading Read(const std::string& sandbox) {
  const std::string text = "{policy_version: 'odyssey.policy/v1',\n sandbox: {" + sandbox + "}}";
  return ReadPolicyOn(FakePolicyHost(), text, "p.json5");
}

TEST(SandboxSectionTest, EveryExtensionReachesTheRequest) {
  const PolicyReading reading = Read(
      "system_tools_mode: 'standard', protect: ['Makefile', './ci//x/'], protection: 'none', "
      "deny: ['**/.env', 'secrets/**', '*.pem'], landlock: 'best_effort', user: 4242, "
      "resources: {pids: 9, disk_mb: 100, tmp_mb: 7, open_files: 64, wall_clock_s: 5, "
      "cpu_seconds: 3, file_mb: 2}");
  ASSERT_EQ(reading.problems, "");
  policy::SandboxRequest expected;
  expected.protect = {"Makefile", "ci/x"};
  expected.protection = policy::Protection::kNone;
  expected.deny = {"**/.env", "secrets/**", "*.pem"};
  expected.landlock = policy::Landlock::kBestEffort;
  expected.user = 4242;
  expected.limits = {.memory_bytes = uint64_t{512} << 20,
                     .cpu_millis = 1000,
                     .pids = 9,
                     .wall_clock_ms = 5000,
                     .cpu_seconds = 3,
                     .open_files = 64,
                     .tmp_bytes = uint64_t{7} << 20,
                     .disk_bytes = uint64_t{100} << 20,
                     .file_bytes = uint64_t{2} << 20};
  expected.unsaid_limits = {.memory_bytes = uint64_t{512} << 20, .cpu_millis = 1000};
  EXPECT_EQ(reading.policy->request, expected);
}

TEST(SandboxSectionTest, NetworkHasAPlaceAlsoWhereItIsNone) {
  const std::string key = "sandbox.permissions.network: refused";
  for (const auto& [sandbox, line] : std::vector<std::pair<std::string, std::string>>{
           {"mode: 'read_only'", "2"},
           {"mode: 'read_only',\n permissions: {}", "3"},
           {"permissions: {\n\n network: []}", "4"},
           {"permissions: {\n\n network: ['*']}", "4"}}) {
    const PolicyReading reading = Read(sandbox);
    ASSERT_EQ(reading.problems, "");
    EXPECT_EQ(
        reading.policy->origins.Locate(testing::RefusalOf("network: refused [\"*\"]")).message(),
        "p.json5:" + line + ": " + key + " [\"*\"]");
  }
}

TEST(SandboxSectionTest, EveryExtensionIsChecked) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"protect: ['/etc']", "protect[0]: must be a path relative to a writable host tree"},
      {"protect: ['a/../../b']", "protect[0]: must be a path relative"},
      {"protect: ['']", "protect[0]: must be a path relative"},
      {"protect: ['.']", "protect[0]: must be a path relative"},
      {"protect: ['*.sh']", "protect[0]: must be a path, not a pattern"},
      {"deny: ['/x']", "deny[0]: \"/x\": is absolute; allowed: "},
      {"deny: ['../x']", "deny[0]: \"../x\": has a component . or ..; allowed: "},
      {"deny: ['a//b']", "deny[0]: \"a//b\": has an empty component; allowed: "},
      {"deny: ['a/']", "deny[0]: \"a/\": ends with /; allowed: "},
      {"deny: ['']", "deny[0]: \"\": is empty; allowed: "},
      {"deny: ['a**/b']", "deny[0]: \"a**/b\": has ** beside other characters; allowed: "},
      {"deny: ['a/**b']", "deny[0]: \"a/**b\": has ** beside other characters; allowed: "},
      {"deny: ['x', '**']", "deny[1]: \"**\": would deny everything; allowed: "},
      {"deny: 'x'", "deny: must be a list"},
      {"protection: 'all'", "protection: unknown variant `all`, expected one of `default`, `none`"},
      {"landlock: 'soft'", "landlock: unknown variant `soft`"},
      {"user: 0", "user: must be a whole number from 1 to 4294967294, not 0"},
      {"user: 'agent'",
       "user: must be a whole number from 1 to 4294967294, not a string (`agent`): "},
      {"resources: {open_files: 15}",
       "resources.open_files: must be a whole number from 16 to 1048576, not 15"},
      {"resources: {file_mb: 0}", "resources.file_mb: must be a whole number from 1 to 8388608"},
      {"resources: {disk_mb: -1}", "resources.disk_mb: must be a whole number"},
      {"resources: {disk_mb: 15}", "resources.disk_mb: must be a whole number from 16 to "},
      {"resources: {memory_mb: 8}", "resources.memory_mb: must be a whole number from 16 to "},
      {"resources: {pids: 7}", "resources.pids: must be a whole number from 8 to 32768, not 7"},
      {"resources: {pids: 32769}", "resources.pids: must be a whole number from 8 to 32768"},
      {"resources: {cpu: 1025}", "resources.cpu: must be a whole number from 1 to 1024, not 1025"},
      {"env: {ODYSSEY_RUN: 'HOME'}", "env.ODYSSEY_RUN: every command gets its own"},
      {"env: {ODYSSEY_SANDBOX: 'NONE'}", "env.ODYSSEY_SANDBOX: every command gets its own"},
      {"resources: {tmp: 1}", "resources.tmp: unknown field `tmp`"},
  };
  for (const auto& [sandbox, problem] : cases) {
    const std::string problems = Read(sandbox).problems;
    EXPECT_EQ(problems.rfind("p.json5:2: sandbox." + problem, 0), 0u) << problems;
  }
}

}  // namespace
}  // namespace odyssey::dialect
