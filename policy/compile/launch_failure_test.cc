#include "policy/compile/launch_failure.h"

#include <errno.h>
#include <gtest/gtest.h>

#include <string>

namespace odyssey::compile {
namespace {

using plan::Entry;
using plan::EntryKind;

constexpr uint32_t kOwner = 1000;
enum Item : size_t { kSystem, kWorkspace, kPart, kProgram, kData, kDataPart, kOwn, kTwice };

policy::SandboxRequest Request() {
  policy::SandboxRequest request;
  request.workspace = "/srv/project";
  request.executables = {"curl", "/srv/tools/run"};
  request.mounts = {{"/srv/d", "/data"}, {"/srv/d", "/srv/d"}};
  return request;
}

// As compile makes it of that, in the order of Item.
plan::Plan Plan() {
  plan::Plan plan;
  plan.entries = {
      {.kind = EntryKind::kHostTree, .target = "/usr", .source = "/usr"},
      {.kind = EntryKind::kHostTree, .target = "/workspace", .source = "/srv/project"},
      {.kind = EntryKind::kPart, .target = "/workspace/.git/hooks"},
      {.kind = EntryKind::kHostTree, .target = "/srv/tools/run", .source = "/srv/tools/run"},
      {.kind = EntryKind::kHostTree, .target = "/data", .source = "/srv/d"},
      {.kind = EntryKind::kPart, .target = "/data/.envrc"},
      {.kind = EntryKind::kTmpfs, .target = "/tmp"},
      {.kind = EntryKind::kHostTree, .target = "/srv/d", .source = "/srv/d"},
  };
  return plan;
}

Status Named(const Status& failure, uint32_t owner = kOwner) {
  return NameField(Request(), Plan(), owner, failure);
}

TEST(LaunchFailureTest, NamesTheFieldThatTheEntryIsOf) {
  const struct {
    Item item;
    const char* field;
  } cases[] = {
      {kSystem, ""},
      {kWorkspace, "workspace"},
      {kPart, "workspace"},
      {kProgram, "executables[1]"},
      {kData, "mounts[0].source"},
      {kDataPart, "mounts[0].source"},
      {kOwn, ""},
      {kTwice, "mounts[1].source"},
  };
  for (const auto& [item, field] : cases) {
    const Status named = Named(NotFound("open /x: no").OfItem(item));
    EXPECT_EQ(named.detail().field, field) << item;
    EXPECT_EQ(named.message(), std::string(field) + (*field == 0 ? "" : ": ") + "open /x: no");
    EXPECT_EQ(named.code(), Code::kNotFound);
  }
}

TEST(LaunchFailureTest, WhatIsOfTheDiskNamesItsLimit) {
  plan::Plan plan = Plan();
  plan.disk_bytes = 4096;
  const Status failure = ResourceExhausted("no room").With({.item = plan::kDiskItem});
  const Status named = NameField(Request(), plan, kOwner, failure);
  EXPECT_EQ(named, ResourceExhausted("limits.disk_bytes: 4096: no room"));
  EXPECT_EQ(named.detail().field, "limits.disk_bytes");
}

TEST(LaunchFailureTest, CellInitNamesTheWorkspace) {
  const Status named =
      Named(InvalidArgument("/workspace is no directory").With({.field = "workspace"}));
  EXPECT_EQ(named, InvalidArgument("workspace: /srv/project: /workspace is no directory"));
  EXPECT_EQ(named.detail().field, "workspace");
}

TEST(LaunchFailureTest, WhatIsOfNoEntryStaysAsItIs) {
  for (const Status& failure : {NotFound("fork: no"), NotFound("x").OfItem(99), OkStatus()}) {
    EXPECT_EQ(Named(failure), failure);
    EXPECT_EQ(Named(failure).detail().field, "");
  }
}

TEST(LaunchFailureTest, WhatIsClosedToTheOwnerSaysToWhom) {
  const Status closed = ErrnoStatus(EACCES, "open /srv/d").OfItem(kData);
  const std::string said = "mounts[0].source: open /srv/d: Permission denied";
  EXPECT_EQ(Named(closed).message().rfind(said + " to uid 1000; what he reaches", 0), 0u);
  EXPECT_EQ(Named(closed, 0).message(), said);
  EXPECT_EQ(Named(PermissionDenied("mount /srv/d: no").OfItem(kData)).message(),
            "mounts[0].source: mount /srv/d: no");
}

}  // namespace
}  // namespace odyssey::compile
