#include "agentd/session/widen.h"

#include <gtest/gtest.h>

#include "policy/lattice/lattice.h"
#include "policy/model/default_limits.h"

namespace odyssey::session {
namespace {

namespace sup = ::odyssey::supervisor::v1;
using agent::v1::Grant;
using agent::v1::Grants;
using policy::Access;
using policy::SandboxRequest;

Grants One(sup::GrantKey key, const std::string& value, const std::string& limit = "") {
  Grants out;
  Grant& grant = *out.add_grants();
  grant.set_key(key);
  grant.set_value(value);
  grant.set_limit(limit);
  return out;
}

// Requests and additions, of which every pair is to follow the laws.
std::vector<SandboxRequest> Requests() {
  SandboxRequest plain;
  plain.limits = policy::kDefaultLimits;
  SandboxRequest named = plain;
  named.executables_mode = policy::ExecutablesMode::kExplicit;
  named.executables = {"sh"};
  SandboxRequest mounts = plain;
  mounts.mounts = {{"/srv/data", "/workspace/mount/read/abs/srv/data"},
                   {"/srv/out", "/workspace/mount/write/abs/srv/out", Access::kReadWrite},
                   {"/srv/out/kept", "/workspace/mount/write/abs/srv/out/kept"},
                   {"/srv/seen", "/workspace/mount/write/abs/srv/seen", Access::kReview}};
  SandboxRequest guarded = mounts;
  guarded.deny = {"**/.env"};
  guarded.protect = {"keep"};
  SandboxRequest tight = plain;
  tight.mode = policy::Mode::kReadOnly;
  tight.workspace = "/srv/bundle";
  tight.limits.pids = 16;
  return {plain, named, mounts, guarded, tight};
}

std::vector<Grants> Additions() {
  std::vector<Grants> out = {
      One(sup::GRANT_KEY_EXECUTABLE, "git"), One(sup::GRANT_KEY_EXECUTABLE, "/srv/tools/run"),
      One(sup::GRANT_KEY_LIMIT, "32", "pids"), One(sup::GRANT_KEY_LIMIT, "4096", "open_files"),
      One(sup::GRANT_KEY_LIMIT, "1", "cpu_seconds")};
  for (const char* path : {"/", "/srv", "/srv/data", "/srv/out", "/srv/out/kept", "/srv/seen"}) {
    out.push_back(One(sup::GRANT_KEY_MOUNT_READ, path));
    out.push_back(One(sup::GRANT_KEY_MOUNT_WRITE, path));
  }
  Grants both = out.back();
  both.MergeFrom(out.front());
  out.push_back(both);
  return out;
}

TEST(WidenTest, NothingIsTakenAwayAndWhatIsAddedIsThere) {
  for (const SandboxRequest& request : Requests()) {
    for (const Grants& grants : Additions()) {
      const SandboxRequest wider = Widen(request, grants);
      const Status within = lattice::IsWithin(request, wider);
      EXPECT_TRUE(within.ok()) << within.ToString() << "\n" << grants.DebugString();
      EXPECT_EQ(Widen(wider, grants), wider) << grants.DebugString();
      const Result<Grants> left = Beyond(wider, grants);
      ASSERT_TRUE(left.ok()) << left.status().ToString();
      EXPECT_TRUE(left->grants().empty()) << left->DebugString();
      const Result<Grants> beyond = Beyond(request, grants);
      ASSERT_TRUE(beyond.ok());
      EXPECT_EQ(beyond->grants().empty(), lattice::IsWithin(wider, request).ok())
          << grants.DebugString();
    }
  }
}

TEST(WidenTest, NothingElseIsAdded) {
  for (const SandboxRequest& request : Requests()) {
    SandboxRequest wider = Widen(request, One(sup::GRANT_KEY_MOUNT_WRITE, "/srv/new"));
    ASSERT_EQ(wider.mounts.size(), request.mounts.size() + 1);
    EXPECT_EQ(wider.mounts.back(), (policy::Mount{"/srv/new", "/workspace/mount/write/abs/srv/new",
                                                  Access::kReadWrite}));
    wider.mounts.pop_back();
    EXPECT_EQ(wider, request);
  }
}

TEST(WidenTest, ALimitIsRaisedAndNeverLowered) {
  SandboxRequest request;
  request.limits = policy::kDefaultLimits;
  request.limits.pids = 64;
  EXPECT_EQ(Widen(request, One(sup::GRANT_KEY_LIMIT, "65", "pids")).limits.pids, 65u);
  EXPECT_EQ(Widen(request, One(sup::GRANT_KEY_LIMIT, "63", "pids")), request);
  EXPECT_EQ(Widen(request, One(sup::GRANT_KEY_LIMIT, "1", "cpu_seconds")), request) << "unlimited";
}

TEST(WidenTest, BeyondSaysWhatALimitIsNow) {
  SandboxRequest request;
  request.limits = policy::kDefaultLimits;
  const Result<Grants> beyond = Beyond(request, One(sup::GRANT_KEY_LIMIT, "1000", "pids"));
  ASSERT_TRUE(beyond.ok());
  ASSERT_EQ(beyond->grants_size(), 1);
  EXPECT_EQ(beyond->grants(0).present(), "512");
}

TEST(WidenTest, OtherKeysAddNothing) {
  const SandboxRequest request;
  for (const auto key : {sup::GRANT_KEY_NETWORK_FULL, sup::GRANT_KEY_EXECUTABLES_ALL,
                         sup::GRANT_KEY_WORKSPACE_WRITE, sup::GRANT_KEY_UNSPECIFIED}) {
    EXPECT_EQ(Widen(request, One(key, "x")), request);
  }
}

}  // namespace
}  // namespace odyssey::session
