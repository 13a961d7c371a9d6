#include "ctl/policy_diff.h"

#include <gtest/gtest.h>

namespace odyssey::ctl {
namespace {

using policy::SandboxRequest;
using Lines = std::vector<std::string>;

TEST(PolicyDiffTest, SaysBothDirections) {
  SandboxRequest a, b;
  a.mounts = {{"/srv/a", "/a"}};
  a.env = {{"LANG", ""}};
  b.mounts = {{"/srv", "/elsewhere", policy::Access::kReadWrite}};
  b.limits.pids = 1000;
  const Result<PolicyDifference> difference = ComparePolicies(a, b);
  ASSERT_TRUE(difference.ok());
  EXPECT_EQ(difference->only_first, Lines{"env: LANG"});
  EXPECT_EQ(difference->only_second, (Lines{"mounts[0].source: /srv (read, write)",
                                            "limits.pids: 1000, where 512 is the most"}));
}

TEST(PolicyDiffTest, OrderAndPlacesMakeNoDifference) {
  SandboxRequest a, b;
  a.mounts = {{"/srv/a", "/a"}, {"/srv/b", "/b"}};
  b.mounts = {{"/srv/b", "/x"}, {"/srv/a", "/y"}};
  a.limits.pids = policy::kDefaultLimits.pids;
  const Result<PolicyDifference> difference = ComparePolicies(a, b);
  EXPECT_EQ(difference->only_first, Lines{});
  EXPECT_EQ(difference->only_second, Lines{});
}

TEST(PolicyDiffTest, WhatCannotBeComparedIsAnError) {
  SandboxRequest bad;
  bad.mounts = {{"/srv/../etc", "/a"}};
  EXPECT_EQ(ComparePolicies({}, bad).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace odyssey::ctl
