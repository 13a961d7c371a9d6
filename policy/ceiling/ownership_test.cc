#include "policy/ceiling/ownership.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace odyssey::ceiling {
namespace {

using plan::Access;
using plan::Entry;
using plan::EntryKind;

constexpr uint32_t kAlice = 1000;

Entry HersAlone(Access access = Access::kReadOnly) {
  return {.kind = EntryKind::kHostTree, .source = "/srv/x", .access = access, .owner = kAlice};
}

TEST(OwnershipTest, HerOwnIsShownWhateverItsMode) {
  EXPECT_TRUE(CheckOwner(HersAlone(Access::kReadWrite), kAlice, S_IFDIR | 0700).ok());
}

TEST(OwnershipTest, AnothersIsShownIfAnybodyMayReadItAndNothingIsWritten) {
  EXPECT_TRUE(CheckOwner(HersAlone(), 0, S_IFDIR | 0755).ok());
  EXPECT_TRUE(CheckOwner(HersAlone(), 0, S_IFREG | 0644).ok());
  for (const uint32_t mode : {S_IFDIR | 0750, S_IFDIR | 0754, S_IFREG | 0640}) {
    EXPECT_EQ(CheckOwner(HersAlone(), 0, mode).message(),
              "mount /srv/x: it is uid 0's, and not the own of uid 1000 (policy/ceiling.md)");
  }
  EXPECT_EQ(CheckOwner(HersAlone(Access::kReadWrite), 0, S_IFDIR | 0777).code(),
            Code::kPermissionDenied);
}

TEST(OwnershipTest, WithoutAnOwnerAndOfTheSystemEverythingIsShown) {
  Entry anybodys = HersAlone(Access::kReadWrite);
  anybodys.owner = plan::kAnyOwner;
  EXPECT_TRUE(CheckOwner(anybodys, 0, S_IFDIR | 0700).ok());
  Entry system = HersAlone();
  system.ownership = plan::Ownership::kUnmapped;
  EXPECT_TRUE(CheckOwner(system, 0, S_IFDIR | 0700).ok());
}

TEST(OwnershipTest, OwnersAreSaidOfWhatIsNotGrantedOutright) {
  plan::Plan plan;
  for (const char* source : {"/usr", "/srv/hers", "/srv/granted", "/bundles/copy"}) {
    plan.entries.push_back({.kind = EntryKind::kHostTree, .source = source});
  }
  plan.entries[0].ownership = plan::Ownership::kUnmapped;
  plan.entries.push_back({.kind = EntryKind::kTmpfs, .target = "/tmp"});
  Asker asker;
  asker.owner.uid = kAlice;
  asker.owner.gids = {100, 27};
  asker.host.bundle_store = "/bundles";
  SetOwners(asker, {"/srv/granted"}, &plan);
  for (const Entry& entry : plan.entries) {
    EXPECT_EQ(entry.owner, entry.source == "/srv/hers" ? kAlice : plan::kAnyOwner) << entry.source;
    EXPECT_EQ(entry.group, entry.source == "/srv/hers" ? 100u : 65534u) << entry.source;
  }
}

}  // namespace
}  // namespace odyssey::ceiling
