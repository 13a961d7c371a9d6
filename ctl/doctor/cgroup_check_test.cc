#include "ctl/doctor/cgroup_check.h"

#include <gtest/gtest.h>

namespace odyssey::ctl {
namespace {

CgroupMount V2(std::vector<std::string> controllers = {"cpu", "io", "memory", "pids"}) {
  return {.directory = "/c",
          .controllers = std::move(controllers),
          .v2 = true,
          .writable = true,
          .top = true,
          .occupied = true};
}

CgroupMount V1(const std::string& controller) {
  return {.directory = "/c/" + controller, .controllers = {controller}, .writable = true};
}

void ExpectMissing(const std::vector<CgroupMount>& mounts, const std::string& detail,
                   const std::string& mend) {
  const Check check = JudgeCgroups(mounts);
  EXPECT_EQ(check.verdict, Verdict::kMissing) << detail;
  EXPECT_EQ(check.detail, detail);
  EXPECT_EQ(check.mend, mend);
}

TEST(CgroupCheckTest, TakesEitherVersion) {
  EXPECT_EQ(JudgeCgroups({V2()}).verdict, Verdict::kGood);
  EXPECT_EQ(JudgeCgroups({V1("memory"), V1("pids"), V1("cpu")}).verdict, Verdict::kGood);
  // As systemd mounts them where v1 has the controllers.
  EXPECT_EQ(JudgeCgroups({V1("memory"), V1("pids"), V1("cpu"), V2({})}).verdict, Verdict::kGood);
}

TEST(CgroupCheckTest, NamesControllersThatNoVersionHas) {
  ExpectMissing({V2({"cpu", "memory"}), V1("io")}, "controllers are missing: memory pids cpu",
                "mkdir -p /sys/fs/cgroup/memory && mount -t cgroup -o memory none "
                "/sys/fs/cgroup/memory");
  ExpectMissing({V2({"cpu", "memory"})}, "v2 at /c lacks the controllers: pids", "");
}

// A container's top group has the container's processes in it, and gives its children nothing.
TEST(CgroupCheckTest, SeesThatNothingIsDelegated) {
  CgroupMount mount = V2();
  mount.top = false;
  ExpectMissing({mount}, "v2 at /c is not delegated: processes are in its top group",
                "mkdir -p /c/init && for p in $(cat /c/cgroup.procs); do echo $p "
                ">/c/init/cgroup.procs; done");
  mount.occupied = false;
  EXPECT_EQ(JudgeCgroups({mount}).verdict, Verdict::kGood);
}

TEST(CgroupCheckTest, SeesReadOnlyMounts) {
  CgroupMount mount = V2();
  mount.writable = false;
  ExpectMissing({mount}, "v2 at /c is read-only", "mount -o remount,rw /c");
  std::vector<CgroupMount> v1 = {V1("memory"), V1("pids"), V1("cpu")};
  v1[1].writable = false;
  ExpectMissing(v1, "v1 at /c/pids is read-only", "mount -o remount,rw /c/pids");
}

TEST(CgroupCheckTest, SeesThatThereAreNone) {
  ExpectMissing({}, "no cgroup file system is mounted", "mount -t cgroup2 none /sys/fs/cgroup");
}

}  // namespace
}  // namespace odyssey::ctl
