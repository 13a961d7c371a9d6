#include "policy/compile/visible_limits.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "policy/compile/compile_fixture.h"

namespace odyssey::compile {
namespace {

using plan::EntryKind;

constexpr char kOnline[] = "/sys/devices/system/cpu/online";

HostFacts Facts() {
  HostFacts facts;
  facts.system = {{"/usr", ""}};
  facts.landlock = {landlock::Probe::kInForce, 6};
  facts.processors = 8;
  facts.memory_bytes = uint64_t{4} << 30;
  return facts;
}

Compiled WithLimits(const policy::Limits& limits, const HostFacts& facts = Facts()) {
  policy::SandboxRequest request;
  request.limits = limits;
  return ExpectCompiles(request, facts);
}

std::string Content(const Compiled& compiled, const std::string& target) {
  const plan::Entry* entry = Find(compiled, target);
  return entry != nullptr && entry->kind == EntryKind::kFile ? entry->source : "none";
}

bool Has(const Compiled& compiled, const std::string& variable) {
  const auto& env = compiled.base_env;
  return std::find(env.begin(), env.end(), variable) != env.end();
}

TEST(VisibleLimitsTest, APartOfAProcessorCountsAsOne) {
  EXPECT_EQ(VisibleProcessors({.cpu_millis = 10}, Facts()), 1U);
  EXPECT_EQ(VisibleProcessors({.cpu_millis = 1000}, Facts()), 1U);
  EXPECT_EQ(VisibleProcessors({.cpu_millis = 1001}, Facts()), 2U);
  EXPECT_EQ(VisibleProcessors({.cpu_millis = UINT32_MAX}, {}), 4294968U);
}

TEST(VisibleLimitsTest, NoMoreProcessorsThanTheMachineHas) {
  EXPECT_EQ(VisibleProcessors({.cpu_millis = 64000}, Facts()), 8U);
}

TEST(VisibleLimitsTest, ProcessorsAreOnlineAndInTheVariables) {
  const Compiled three = WithLimits({.cpu_millis = 2500});
  EXPECT_EQ(Content(three, kOnline), "0-2\n");
  for (const char* name :
       {"OMP_NUM_THREADS", "GOMAXPROCS", "PYTHON_CPU_COUNT", "PYTEST_XDIST_AUTO_NUM_WORKERS"}) {
    EXPECT_TRUE(Has(three, std::string(name) + "=3")) << name;
  }
  EXPECT_EQ(Content(WithLimits({.cpu_millis = 500}), kOnline), "0\n");
}

// Programs have arrays of `possible` processors, and index them by the machine's numbers.
TEST(VisibleLimitsTest, NothingElseIsSaidOfProcessors) {
  for (const plan::Entry& entry : WithLimits({}).plan.entries) {
    EXPECT_TRUE(entry.target == kOnline || !plan::IsWithin(entry.target, "/sys/devices"))
        << entry.target;
  }
}

TEST(VisibleLimitsTest, MemoryIsTheLimitAsMeminfoSaysIt) {
  const std::string text =
      Content(WithLimits({.memory_bytes = uint64_t{300} << 20}), "/.proc/meminfo");
  EXPECT_EQ(text.rfind("MemTotal:         307200 kB\nMemFree:          307200 kB\n"
                       "MemAvailable:     307200 kB\nBuffers:               0 kB\n",
                       0),
            0U)
      << text;
  EXPECT_NE(text.find("\nSwapTotal:             0 kB\n"), std::string::npos) << text;
}

TEST(VisibleLimitsTest, NoMoreMemoryThanTheMachineHas) {
  const std::string text =
      Content(WithLimits({.memory_bytes = uint64_t{1} << 40}), "/.proc/meminfo");
  EXPECT_EQ(text.rfind("MemTotal:        4194304 kB\n", 0), 0U) << text;
}

TEST(VisibleLimitsTest, OneMountPointForControlGroupsOfVersionTwo) {
  const Compiled compiled = WithLimits({});
  ASSERT_NE(Find(compiled, "/sys/fs/cgroup"), nullptr);
  EXPECT_EQ(Find(compiled, "/sys/fs/cgroup")->kind, EntryKind::kDirectory);
  EXPECT_EQ(Find(compiled, "/sys/fs/cgroup/memory"), nullptr);
}

TEST(VisibleLimitsTest, OneForEachHierarchyOfVersionOne) {
  HostFacts facts = Facts();
  facts.control_groups = {{"/sys/fs/cgroup/memory", ""},
                          {"/sys/fs/cgroup/cpu,cpuacct", ""},
                          {"/sys/fs/cgroup/cpu", "cpu,cpuacct"}};
  const Compiled compiled = WithLimits({}, facts);
  EXPECT_EQ(Find(compiled, "/sys/fs/cgroup/memory")->kind, EntryKind::kDirectory);
  EXPECT_EQ(Find(compiled, "/sys/fs/cgroup/cpu,cpuacct")->kind, EntryKind::kDirectory);
  EXPECT_EQ(Find(compiled, "/sys/fs/cgroup/cpu")->kind, EntryKind::kSymlink);
}

}  // namespace
}  // namespace odyssey::compile
