#include "policy/plan/plan.h"

#include <gtest/gtest.h>

namespace odyssey::plan {
namespace {

Plan SamplePlan() {
  Plan plan;
  plan.cell_id = "c1";
  plan.cell_tree = "ses_1/main";
  plan.from_tree = "ses_2/main";
  plan.network = Network::kFull;
  plan.memory_bytes = uint64_t{1} << 33;
  plan.cpu_millis = 1500;
  plan.pids = 64;
  plan.tmp_bytes = 4096;
  plan.disk_bytes = uint64_t{1} << 34;
  plan.entries = {
      {.kind = EntryKind::kHostTree,
       .target = "/usr",
       .source = "/usr",
       .executable = true,
       .ownership = Ownership::kUnmapped,
       .device = 0xfe01,
       .inode = uint64_t{1} << 40},
      {.kind = EntryKind::kFile, .target = "/etc/hosts", .source = std::string("a\0b", 3)},
      {.kind = EntryKind::kTmpfs,
       .target = "/tmp",
       .access = Access::kReadWrite,
       .size_bytes = 4096},
  };
  return plan;
}

TEST(PlanTest, DecodesWhatItEncodes) {
  const Result<Plan> decoded = DecodePlan(EncodePlan(SamplePlan()));
  ASSERT_TRUE(decoded.ok()) << decoded.status().ToString();
  EXPECT_EQ(*decoded, SamplePlan());
}

TEST(PlanTest, RefusesEveryTruncation) {
  const std::string bytes = EncodePlan(SamplePlan());
  for (size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_EQ(DecodePlan(std::string_view(bytes).substr(0, n)).status().code(),
              Code::kInvalidArgument)
        << n;
  }
}

TEST(PlanTest, RefusesTrailingBytes) {
  EXPECT_FALSE(DecodePlan(EncodePlan(SamplePlan()) + '\0').ok());
}

TEST(PlanTest, RefusesAnotherVersion) {
  std::string bytes = EncodePlan(SamplePlan());
  bytes[0] = 9;
  EXPECT_EQ(DecodePlan(bytes).status().message(),
            "decode plan: version: malformed, too long, or cut off");
}

TEST(PlanTest, NamesTheFieldThatIsTooLong) {
  Plan plan = SamplePlan();
  plan.cell_id.assign(kMaxCellId + 1, 'a');
  EXPECT_NE(DecodePlan(EncodePlan(plan)).status().message().find("cell_id"), std::string::npos);

  plan = SamplePlan();
  plan.entries[1].source.assign(kMaxFileBytes + 1, 'a');
  EXPECT_NE(DecodePlan(EncodePlan(plan)).status().message().find("entries[1]"), std::string::npos);

  plan = SamplePlan();
  plan.entries[0].source.assign(kMaxPath + 1, 'a');
  EXPECT_NE(DecodePlan(EncodePlan(plan)).status().message().find("entries[0]"), std::string::npos);
}

TEST(PlanTest, RefusesTooManyEntriesAndTooManyBytes) {
  Plan plan = SamplePlan();
  plan.entries.resize(kMaxEntries + 1);
  EXPECT_FALSE(DecodePlan(EncodePlan(plan)).ok());
  EXPECT_FALSE(DecodePlan(std::string(kMaxPlanBytes + 1, '\1')).ok());
}

TEST(PlanTest, RefusesUnknownEnumerators) {
  Plan plan = SamplePlan();
  plan.network = static_cast<Network>(2);
  EXPECT_FALSE(DecodePlan(EncodePlan(plan)).ok());
  plan = SamplePlan();
  plan.entries[0].kind = static_cast<EntryKind>(7);
  EXPECT_FALSE(DecodePlan(EncodePlan(plan)).ok());
  plan = SamplePlan();
  plan.entries[0].ownership = static_cast<Ownership>(2);
  EXPECT_FALSE(DecodePlan(EncodePlan(plan)).ok());
}

}  // namespace
}  // namespace odyssey::plan
