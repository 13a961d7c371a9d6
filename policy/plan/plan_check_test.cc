#include "policy/plan/plan_check.h"

#include <functional>

#include <gtest/gtest.h>

namespace odyssey::plan {
namespace {

Entry Mapped(const std::string& source, const std::string& target, Access access) {
  return {.kind = EntryKind::kHostTree, .target = target, .source = source, .access = access};
}

Entry System(const std::string& source) {
  return {.kind = EntryKind::kHostTree,
          .target = source,
          .source = source,
          .executable = true,
          .ownership = Ownership::kUnmapped};
}

CheckContext Context() {
  return {.own_directories = {"/var/lib/odyssey", "/run/odyssey", "/srv/state"},
          .bundle_store = "/var/lib/odyssey/agentd/bundles",
          .max_memory_bytes = uint64_t{1} << 40,
          .max_pids = 4096};
}

Plan GoodPlan() {
  Plan plan;
  plan.cell_id = "c_1";
  plan.cell_tree = "ses_1/main";
  plan.memory_bytes = uint64_t{1} << 30;
  plan.cpu_millis = 1000;
  plan.pids = 128;
  plan.tmp_bytes = uint64_t{1} << 20;
  plan.entries = {
      System("/usr"),
      {.kind = EntryKind::kSymlink, .target = "/bin", .source = "usr/bin"},
      System("/etc/ssl"),
      {.kind = EntryKind::kFile, .target = "/etc/passwd", .source = "root:x:0:0::/:/bin/sh\n"},
      {.kind = EntryKind::kTmpfs, .target = "/tmp", .size_bytes = 4096},
      {.kind = EntryKind::kCellTree, .target = "/workspace", .source = "app"},
      {.kind = EntryKind::kTmpfs, .target = "/workspace/mount", .size_bytes = 4096},
      Mapped("/home/u/p", "/workspace/mount/read/abs/home/u/p", Access::kReadOnly),
      {.kind = EntryKind::kCellTree, .target = "/cell/data", .source = "data"},
      {.kind = EntryKind::kCellTree, .target = "/cell/data/home", .source = "data/home"},
      {.kind = EntryKind::kDirectory, .target = "/run"},
  };
  return plan;
}

Status CheckWith(const Entry& entry) {
  Plan plan = GoodPlan();
  plan.entries.push_back(entry);
  return CheckPlan(plan, Context());
}

TEST(PlanCheckTest, AcceptsWhatTheCompilerMakes) {
  EXPECT_EQ(CheckPlan(GoodPlan(), Context()).ToString(), "OK");
}

TEST(PlanCheckTest, RefusesCellIdsThatAreNoPlainName) {
  for (const std::string id : {"", "a/b", "..", "A", "a b", "a\n", "a-b"}) {
    Plan plan = GoodPlan();
    plan.cell_id = id;
    EXPECT_EQ(CheckPlan(plan, Context()).code(), Code::kInvalidArgument) << id;
  }
  Plan plan = GoodPlan();
  plan.cell_id.assign(kMaxCellId + 1, 'a');
  EXPECT_FALSE(CheckPlan(plan, Context()).ok());
}

TEST(PlanCheckTest, RefusesCellTreesThatLeaveTheCellsRoot) {
  for (const std::string tree : {"/abs", "..", "a/../b", "a//b", "a/", "./a", "a\tb"}) {
    Plan plan = GoodPlan();
    plan.cell_tree = tree;
    EXPECT_EQ(CheckPlan(plan, Context()).code(), Code::kInvalidArgument) << tree;
  }
  Plan plan = GoodPlan();
  plan.cell_tree = "";
  EXPECT_TRUE(CheckPlan(plan, Context()).ok());
}

TEST(PlanCheckTest, OnlyAReviewCellSeesAnotherCellsTree) {
  Plan plan = GoodPlan();
  plan.from_tree = "ses_2/main";
  EXPECT_EQ(CheckPlan(plan, Context()).code(), Code::kInvalidArgument);
  plan.program = Program::kReview;
  EXPECT_TRUE(CheckPlan(plan, Context()).ok()) << CheckPlan(plan, Context()).ToString();
  for (const std::string& tree : {std::string("../x"), std::string("/abs"), plan.cell_tree}) {
    plan.from_tree = tree;
    EXPECT_NE(CheckPlan(plan, Context()).message().find("from_tree"), std::string::npos) << tree;
  }
  plan.from_tree = "ses_2/main";
  plan.cell_tree = "";
  EXPECT_FALSE(CheckPlan(plan, Context()).ok());
}

TEST(PlanCheckTest, RefusesADiskForATreeInMemory) {
  Plan plan = GoodPlan();
  plan.disk_bytes = 1;
  EXPECT_TRUE(CheckPlan(plan, Context()).ok());
  plan.cell_tree = "";
  EXPECT_NE(CheckPlan(plan, Context()).message().find("disk_bytes"), std::string::npos);
}

TEST(PlanCheckTest, RefusesLimitsThatAreZeroOrOverTheBound) {
  const std::function<void(Plan*)> changes[] = {
      [](Plan* p) { p->memory_bytes = 0; },
      [](Plan* p) { p->cpu_millis = 0; },
      [](Plan* p) { p->pids = 0; },
      [](Plan* p) { p->tmp_bytes = 0; },
      [](Plan* p) { p->memory_bytes = (uint64_t{1} << 40) + 1; },
      [](Plan* p) { p->pids = 4097; },
  };
  for (const auto& change : changes) {
    Plan plan = GoodPlan();
    change(&plan);
    EXPECT_FALSE(CheckPlan(plan, Context()).ok());
  }
}

TEST(PlanCheckTest, RefusesRootAndNoUserAsTheUser) {
  for (const uint32_t user : {0u, UINT32_MAX}) {
    Plan plan = GoodPlan();
    plan.user = user;
    const Status status = CheckPlan(plan, Context());
    EXPECT_EQ(status.code(), Code::kPermissionDenied);
    EXPECT_EQ(status.message(),
              "check plan: user " + std::to_string(user) + "; 1 to 4294967294 are allowed");
  }
  for (const uint32_t user : {1u, kCellUser, UINT32_MAX - 1}) {
    Plan plan = GoodPlan();
    plan.user = user;
    EXPECT_TRUE(CheckPlan(plan, Context()).ok()) << user;
  }
}

TEST(PlanCheckTest, RefusesTargetsThatAreNotNormalisedOrReserved) {
  for (const std::string target :
       {"", "/", "relative", "/a/../b", "/a//b", "/a/", "/a/.", "/proc", "/proc/sys", "/dev/shm",
        "/.odyssey", "/.odyssey/cell-init", "/a\nb"}) {
    EXPECT_FALSE(CheckWith({.kind = EntryKind::kDirectory, .target = target}).ok()) << target;
  }
  EXPECT_TRUE(CheckWith({.kind = EntryKind::kDirectory, .target = "/procfs"}).ok());
  EXPECT_FALSE(CheckWith({.kind = EntryKind::kDirectory, .target = std::string("/a\0b", 4)}).ok());
}

TEST(PlanCheckTest, RefusesATargetTwiceAndOneThatCoversAnEarlierOne) {
  EXPECT_FALSE(CheckWith({.kind = EntryKind::kDirectory, .target = "/tmp"}).ok());
  EXPECT_FALSE(CheckWith({.kind = EntryKind::kDirectory, .target = "/cell"}).ok());
}

TEST(PlanCheckTest, RefusesMountPointsInsideHostTreesLinksAndFiles) {
  for (const std::string target :
       {"/usr/x", "/bin/x", "/etc/passwd/x", "/workspace/mount/read/abs/home/u/p/x"}) {
    EXPECT_EQ(CheckWith({.kind = EntryKind::kDirectory, .target = target}).code(),
              Code::kPermissionDenied)
        << target;
  }
}

TEST(PlanCheckTest, ATmpfsMayLieOnADirectoryOfAReadOnlyHostTree) {
  const Entry in_read_only = {.kind = EntryKind::kTmpfs, .target = "/usr/mount", .size_bytes = 1};
  EXPECT_TRUE(CheckWith(in_read_only).ok());
  Plan plan = GoodPlan();
  plan.entries.push_back(Mapped("/home/u/w", "/w", Access::kReadWrite));
  plan.entries.push_back({.kind = EntryKind::kTmpfs, .target = "/w/mount", .size_bytes = 1});
  EXPECT_EQ(CheckPlan(plan, Context()).code(), Code::kPermissionDenied);
}

// On what that has: root makes no mount point there (MountTree).
TEST(PlanCheckTest, AHostTreeMayLieOnWhatAHostTreeHas) {
  for (const Access around : {Access::kReadOnly, Access::kReadWrite}) {
    for (const Access inside : {Access::kReadOnly, Access::kReadWrite}) {
      Plan plan = GoodPlan();
      plan.entries.push_back(Mapped("/home/u/w", "/w", around));
      plan.entries.push_back(Mapped("/home/u/w/x", "/w/x", inside));
      EXPECT_TRUE(CheckPlan(plan, Context()).ok());
    }
  }
  Plan plan = GoodPlan();
  plan.entries.push_back(Mapped("/home/u/w", "/w", Access::kReadWrite));
  plan.entries.push_back({.kind = EntryKind::kPart, .target = "/w/ro"});
  plan.entries.push_back(Mapped("/home/u/w/ro/rw", "/w/ro/rw", Access::kReadWrite));
  EXPECT_TRUE(CheckPlan(plan, Context()).ok());
  plan.entries.push_back({.kind = EntryKind::kCellTree, .target = "/w/ro/d", .source = "app"});
  EXPECT_EQ(CheckPlan(plan, Context()).code(), Code::kPermissionDenied);
}

TEST(PlanCheckTest, RefusesHostTreesInsideACellTree) {
  EXPECT_FALSE(CheckWith(Mapped("/home/u/q", "/workspace/q", Access::kReadOnly)).ok());
  EXPECT_FALSE(CheckWith({.kind = EntryKind::kDirectory, .target = "/workspace/d"}).ok());
  EXPECT_TRUE(
      CheckWith({.kind = EntryKind::kTmpfs, .target = "/workspace/t", .size_bytes = 1}).ok());
}

TEST(PlanCheckTest, RefusesUnmappedTreesThatAreNotTheSystems) {
  for (const std::string source :
       {"/", "/etc", "/etcx", "/etc/resolv.conf", "/home/u", "/var", "/root", "/usrx", "/boot"}) {
    Entry entry = System(source);
    entry.target = "/x";
    EXPECT_EQ(CheckWith(entry).code(), Code::kPermissionDenied) << source;
  }
  for (const std::string source :
       {"/opt", "/opt/tool", "/usr/share", "/etc/ld.so.cache", "/etc/maven"}) {
    Entry entry = System(source);
    entry.target = "/x";
    EXPECT_TRUE(CheckWith(entry).ok()) << source;
  }
}

TEST(PlanCheckTest, RefusesAWritableUnmappedTree) {
  Plan plan = GoodPlan();
  plan.entries[0].access = Access::kReadWrite;
  EXPECT_EQ(CheckPlan(plan, Context()).code(), Code::kPermissionDenied);
}

TEST(PlanCheckTest, ShowsTheResolverOnlyWithTheHostsNetwork) {
  Plan plan = GoodPlan();
  Entry resolver = System("/run/systemd/resolve/stub-resolv.conf");
  resolver.target = "/etc/resolv.conf";
  plan.entries.push_back(resolver);
  EXPECT_EQ(CheckPlan(plan, Context()).code(), Code::kPermissionDenied);
  plan.network = Network::kFull;
  EXPECT_TRUE(CheckPlan(plan, Context()).ok());
  plan.entries.back().target = "/x";
  EXPECT_FALSE(CheckPlan(plan, Context()).ok());
}

TEST(PlanCheckTest, RefusesHostSourcesThatExposeTheHost) {
  for (const std::string source :
       {"/", "/root", "/home", "/var", "/usr", "/tmp", "/proc", "/proc/1", "/sys/fs/cgroup",
        "/dev/vda", "/run", "/run/docker.sock", "/boot", "/etc", "/etc/shadow"}) {
    EXPECT_EQ(CheckHostSource(source, Access::kReadOnly, Context()).code(), Code::kPermissionDenied)
        << source;
    EXPECT_FALSE(CheckWith(Mapped(source, "/x", Access::kReadOnly)).ok()) << source;
  }
  for (const std::string source : {"/home/u", "/root/p", "/tmp/x", "/srv/data", "/runs"}) {
    EXPECT_TRUE(CheckHostSource(source, Access::kReadOnly, Context()).ok()) << source;
  }
}

TEST(PlanCheckTest, HidesOdysseysOwnDirectoriesAndTheirAncestors) {
  for (const std::string source :
       {"/var/lib/odyssey", "/var/lib/odyssey/supervisor/cells", "/var/lib", "/srv", "/srv/state",
        "/var/lib/odyssey/agentd", "/var/lib/odyssey/agentd/bundles"}) {
    EXPECT_EQ(CheckHostSource(source, Access::kReadOnly, Context()).code(), Code::kPermissionDenied)
        << source;
  }
  EXPECT_TRUE(CheckHostSource("/srv/state2", Access::kReadWrite, Context()).ok());
}

TEST(PlanCheckTest, HidesOwnDirectoriesInsideSystemTrees) {
  CheckContext context = Context();
  context.own_directories.push_back("/usr/local/state");
  EXPECT_EQ(CheckPlan(GoodPlan(), context).code(), Code::kPermissionDenied);
}

TEST(PlanCheckTest, ShowsABundleReadOnly) {
  const std::string bundle = "/var/lib/odyssey/agentd/bundles/b1";
  EXPECT_TRUE(CheckWith(Mapped(bundle, "/x", Access::kReadOnly)).ok());
  EXPECT_EQ(CheckWith(Mapped(bundle, "/x", Access::kReadWrite)).code(), Code::kPermissionDenied);
}

TEST(PlanCheckTest, RefusesToWriteWhatTheHostsRootRuns) {
  for (const std::string source : {"/usr/local/bin", "/bin", "/lib/x", "/var/spool/cron"}) {
    EXPECT_EQ(CheckWith(Mapped(source, "/x", Access::kReadWrite)).code(), Code::kPermissionDenied)
        << source;
    EXPECT_TRUE(CheckWith(Mapped(source, "/x", Access::kReadOnly)).ok()) << source;
  }
}

TEST(PlanCheckTest, RefusesSourcesThatDoNotFitTheKind) {
  const Entry entries[] = {
      {.kind = EntryKind::kDirectory, .target = "/x", .source = "y"},
      {.kind = EntryKind::kTmpfs, .target = "/x"},
      {.kind = EntryKind::kTmpfs, .target = "/x", .source = "y", .size_bytes = 1},
      {.kind = EntryKind::kSymlink, .target = "/x"},
      {.kind = EntryKind::kSymlink, .target = "/x", .source = std::string("a\0b", 3)},
      {.kind = EntryKind::kFile, .target = "/x", .source = std::string(kMaxFileBytes + 1, 'a')},
      {.kind = EntryKind::kCellTree, .target = "/x", .source = "../other"},
      {.kind = EntryKind::kCellTree, .target = "/x", .source = "/app"},
      {.kind = EntryKind::kCellTree, .target = "/x"},
      {.kind = EntryKind::kHostTree, .target = "/x", .source = "/home/u/../v"},
      {.kind = static_cast<EntryKind>(9), .target = "/x"},
  };
  for (const Entry& entry : entries) {
    EXPECT_EQ(CheckWith(entry).code(), Code::kInvalidArgument)
        << static_cast<int>(entry.kind) << " " << entry.source.substr(0, 20);
  }
}

TEST(PlanCheckTest, NamesTheEntry) {
  EXPECT_EQ(CheckWith(Mapped("/etc", "/x", Access::kReadOnly)).message(),
            "check plan: entries[11] /x: /etc: nothing of /proc, /sys, /dev, /run, /boot "
            "and /etc may be shown");
}

TEST(PlanCheckTest, ComparesPathsByComponent) {
  EXPECT_TRUE(IsWithin("/a/b", "/a"));
  EXPECT_TRUE(IsWithin("/a", "/a"));
  EXPECT_TRUE(IsWithin("/a", "/"));
  EXPECT_FALSE(IsWithin("/ab", "/a"));
  EXPECT_FALSE(IsWithin("/", "/a"));
  EXPECT_FALSE(IsWithin("", "/"));
}

Status CheckWithPart(const Entry& part) {
  Plan plan = GoodPlan();
  Entry data = System("/opt");
  data.executable = false;
  plan.entries.push_back(data);
  plan.entries.push_back(Mapped("/srv/repo", "/srv/repo", Access::kReadWrite));
  plan.entries.push_back(part);
  return CheckPlan(plan, Context());
}

Entry Part(const std::string& target, Access access, bool executable) {
  return {.kind = EntryKind::kPart, .target = target, .access = access, .executable = executable};
}

TEST(PlanCheckTest, APartTakesRightsAwayFromTheHostTreeAroundIt) {
  EXPECT_EQ(CheckWithPart(Part("/srv/repo/.git", Access::kReadWrite, false)), OkStatus());
  EXPECT_EQ(CheckWithPart(Part("/srv/repo/.git/hooks", Access::kReadOnly, false)), OkStatus());
  EXPECT_EQ(CheckWithPart(Part("/opt/tool", Access::kReadOnly, true)), OkStatus());
}

TEST(PlanCheckTest, APartGivesNoRightsButExecutionOfWhatIsReadOnly) {
  EXPECT_EQ(CheckWithPart(Part("/opt/tool", Access::kReadWrite, false)).code(),
            Code::kPermissionDenied);
  EXPECT_EQ(CheckWithPart(Part("/srv/repo/bin", Access::kReadWrite, true)).code(),
            Code::kPermissionDenied);
}

TEST(PlanCheckTest, APartNeedsAHostTreeAroundItAndNoSource) {
  EXPECT_EQ(CheckWithPart(Part("/workspace/app", Access::kReadOnly, false)).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(CheckWithPart(Part("/elsewhere", Access::kReadOnly, false)).code(),
            Code::kInvalidArgument);
  Entry with_source = Part("/srv/repo/.git", Access::kReadOnly, false);
  with_source.source = "/etc";
  EXPECT_EQ(CheckWithPart(with_source).code(), Code::kInvalidArgument);
}

Plan ImagePlan() {
  Plan plan = GoodPlan();
  plan.entries = {{.kind = EntryKind::kFile, .target = "/etc/hosts", .source = ""},
                  {.kind = EntryKind::kPart, .target = "/usr", .executable = true}};
  plan.ids = Ids::kRange;
  plan.user = plan.group = 0;
  plan.layers = {"0a", "ff"};
  return plan;
}

Status CheckImage(const std::function<void(Plan*)>& change) {
  Plan plan = ImagePlan();
  change(&plan);
  return CheckPlan(plan, Context());
}

TEST(PlanCheckTest, AnImageIsARootOfACellWithARange) {
  EXPECT_EQ(CheckPlan(ImagePlan(), Context()).ToString(), "OK");
  EXPECT_FALSE(CheckImage([](Plan* plan) { plan->ids = Ids::kOne; }).ok());
  EXPECT_FALSE(CheckImage([](Plan* plan) { plan->user = kRangeIds; }).ok());
  EXPECT_FALSE(CheckImage([](Plan* plan) { plan->group = kRangeIds; }).ok());
  EXPECT_FALSE(CheckImage([](Plan* plan) {
                 plan->layers.clear();
                 plan->entries.clear();
                 plan->ids = Ids::kOne;
               }).ok())
      << "user 0 without a range is root of the host";
}

TEST(PlanCheckTest, ALayerIsNamedByItsDigest) {
  for (const char* name : {"", "..", "a/b", "AB", "g0"}) {
    EXPECT_FALSE(CheckImage([&](Plan* plan) { plan->layers = {name}; }).ok()) << name;
  }
}

TEST(PlanCheckTest, APartOfAnImageIsReadOnly) {
  EXPECT_FALSE(CheckImage([](Plan* plan) { plan->entries[1].access = Access::kReadWrite; }).ok());
}

TEST(PlanCheckTest, ALayerCellAloneWritesToALayer) {
  const auto write = [](Plan* plan) { plan->cell_tree = "images/0a"; };
  EXPECT_FALSE(CheckImage(write).ok());
  EXPECT_TRUE(CheckImage([&](Plan* plan) {
                write(plan);
                plan->program = Program::kLayer;
              }).ok());
  EXPECT_FALSE(CheckImage([](Plan* plan) { plan->program = Program::kLayer; }).ok());
}

}  // namespace
}  // namespace odyssey::plan
