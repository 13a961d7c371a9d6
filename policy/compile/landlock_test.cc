#include "policy/compile/landlock.h"

#include <gtest/gtest.h>

namespace odyssey::compile {
namespace {

using policy::Landlock;
using policy::Network;
using policy::SandboxRequest;

HostFacts FactsWithAbi(uint32_t abi) {
  HostFacts facts;
  facts.system = {{"/usr", ""}};
  if (abi > 0) facts.landlock = {landlock::Probe::kInForce, abi};
  return facts;
}

Result<Compiled> With(uint32_t abi, const SandboxRequest& request) {
  return Compile(request, FactsWithAbi(abi));
}

bool Explains(const Compiled& compiled, const std::string& text) {
  for (const std::string& line : compiled.explanation) {
    if (line.find(text) != std::string::npos) return true;
  }
  return false;
}

TEST(LandlockTest, RefusesAKernelWithoutARightThatThePolicyReliesOnByName) {
  struct Case {
    uint32_t abi;
    Network network;
    const char* missing;
  };
  const Case cases[] = {
      {1, Network::kNone, "refer (Landlock ABI 2, Linux 5.19)"},
      {2, Network::kFull, "scope_abstract_socket (Landlock ABI 6, Linux 6.12)"},
      {5, Network::kFull, "scope_abstract_socket (Landlock ABI 6, Linux 6.12)"},
  };
  for (const Case& c : cases) {
    const Status status = With(c.abi, {.network = c.network}).status();
    EXPECT_EQ(status.code(), Code::kFailedPrecondition) << c.abi;
    EXPECT_EQ(status.message().rfind(std::string("landlock: ") + c.missing, 0), 0u)
        << status.message();
    EXPECT_NE(status.message().find("best_effort"), std::string::npos) << status.message();
  }
}

TEST(LandlockTest, AsksForNoRightThatAnotherWallStandsInFor) {
  const auto quiet = With(2, {.workspace = "/srv/w"});
  ASSERT_TRUE(quiet.ok()) << quiet.status().ToString();
  EXPECT_EQ(quiet->confinement.landlock_abi, 2u);
  const auto full = With(6, {.network = Network::kFull});
  ASSERT_TRUE(full.ok()) << full.status().ToString();
  EXPECT_EQ(full->confinement.landlock_abi, 6u);
}

TEST(LandlockTest, ReliesOnTruncateWhereNoMountIsReadOnlyForIt) {
  Compiled compiled;
  compiled.plan.entries = {{.kind = plan::EntryKind::kHostTree,
                            .target = "/d",
                            .source = "/srv/d",
                            .access = plan::Access::kReadWrite}};
  compiled.confinement.rules = {{"/", cell::kRead}};
  const landlock::Support old = {landlock::Probe::kInForce, 2};
  const Status status = AddLandlock(Landlock::kHardRequirement, old, &compiled);
  EXPECT_EQ(status.message().rfind("landlock: truncate (Landlock ABI 3, Linux 6.2)", 0), 0u)
      << status.message();
  compiled.confinement.rules.push_back({"/d", cell::kRead | cell::kWrite});
  EXPECT_EQ(AddLandlock(Landlock::kHardRequirement, old, &compiled), OkStatus());
}

TEST(LandlockTest, RunsWithoutWhereThePolicyTakesWhatThereIsAndSaysSo) {
  struct Case {
    uint32_t abi;
    const char* without;
  };
  const Case cases[] = {{0, "has no Landlock"}, {1, "refer"}, {5, "scope_abstract_socket"}};
  for (const Case& c : cases) {
    const auto compiled =
        With(c.abi, {.network = Network::kFull, .landlock = Landlock::kBestEffort});
    ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
    EXPECT_EQ(compiled->confinement.landlock_abi, 0u);
    EXPECT_TRUE(Explains(*compiled, "landlock best_effort: runs without ")) << c.abi;
    EXPECT_TRUE(Explains(*compiled, c.without)) << c.abi;
  }
}

TEST(LandlockTest, BestEffortIsNoWeakerWhereNothingIsMissing) {
  const auto hard = With(6, {});
  const auto best = With(6, {.landlock = Landlock::kBestEffort});
  ASSERT_TRUE(hard.ok() && best.ok());
  EXPECT_EQ(best->confinement, hard->confinement);
}

TEST(LandlockTest, SaysWhyAKernelHasNone) {
  HostFacts facts = FactsWithAbi(0);
  facts.landlock.probe = landlock::Probe::kSwitchedOff;
  const Status status = Compile({}, facts).status();
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_NE(status.message().find("booted without it"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace odyssey::compile
