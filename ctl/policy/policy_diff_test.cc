#include "ctl/policy/policy_diff.h"

#include <gtest/gtest.h>

#include "policy/model/default_limits.h"

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
  const Result<difference::Difference> difference = CompareRequests(a, b);
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
  const Result<difference::Difference> difference = CompareRequests(a, b);
  EXPECT_EQ(difference->only_first, Lines{});
  EXPECT_EQ(difference->only_second, Lines{});
}

dialect::Bundle BundleWith(dialect::ToolRuleSpec tools, std::string id = "a") {
  dialect::Bundle bundle;
  bundle.agents = {{.id = std::move(id), .tools = std::move(tools)}};
  return bundle;
}

TEST(PolicyDiffTest, ToolsAndTheirRulesCount) {
  const dialect::Bundle a = BundleWith({.allow = {"Bash(git:*)", "Read"}, .ask = {"Bash"}});
  const dialect::Bundle b = BundleWith(
      {.allow = {"Bash(git:*)", "Bash(curl:*)", "Read", "Write"}, .deny = {"Read"}}, "b");
  const Result<difference::Difference> difference = CompareAgents(a, b);
  ASSERT_TRUE(difference.ok());
  EXPECT_EQ(difference->only_first,
            (Lines{"agent.tools: Read", "agent.tools.deny: Read is not there"}));
  EXPECT_EQ(difference->only_second, (Lines{"agent.tools: Write", "agent.tools.allow: Bash(curl:*)",
                                            "agent.tools.ask: Bash is not there"}));
  EXPECT_EQ(CompareAgents(a, a)->only_second, Lines{});
}

TEST(PolicyDiffTest, AgentsOfSeveralAreComparedByTheirIds) {
  dialect::Bundle a = BundleWith({.deny = {"Write"}});
  a.agents.push_back({.id = "b"});
  dialect::Bundle b = BundleWith({}, "c");
  b.agents.push_back({.id = "a"});
  const Result<difference::Difference> difference = CompareAgents(a, b);
  EXPECT_EQ(difference->only_first, Lines{"agents.b: there is no such agent"});
  EXPECT_EQ(difference->only_second,
            (Lines{"agents.c: there is no such agent", "agents.a.tools: Write",
                   "agents.a.tools.deny: Write is not there"}));
  EXPECT_EQ(CompareAgents(BundleWith({.deny = {"Bash("}}), b).status().code(),
            Code::kInvalidArgument);
}

TEST(PolicyDiffTest, ServersAreComparedByTheirNames) {
  dialect::Bundle a, b;
  a.mcp_servers = {{.name = "notes", .command = {"python3", "notes.py"}},
                   {.name = "one", .url = "http://x/"}};
  b.mcp_servers = {{.name = "notes", .command = {"python3", "other.py"}, .tools = {"add"}},
                   {.name = "two", .command = {"two"}}};
  const difference::Difference difference = CompareServers(a, b);
  EXPECT_EQ(difference.only_first, Lines{"mcp_servers.one: url http://x/, timeout 60 s"});
  EXPECT_EQ(difference.only_second, Lines{"mcp_servers.two: command two, timeout 60 s"});
  EXPECT_EQ(difference.undecided,
            Lines{"mcp_servers.notes: command python3 notes.py, timeout 60 s; "
                  "the other command python3 other.py, tool add, timeout 60 s"});
  EXPECT_EQ(CompareServers(a, a), difference::Difference{});
}

WholePolicy Worker(dialect::llm_do::Worker worker) {
  WholePolicy whole;
  whole.policy.worker = std::move(worker);
  return whole;
}

TEST(PolicyDiffTest, ChildIsBeyondItsParentByTheSameAccount) {
  const WholePolicy parent = Worker({.allow_workers = {{"a"}}});
  const WholePolicy child = Worker({.allow_workers = {{"a", "b"}}});
  EXPECT_EQ(**BeyondParent(child, parent), "toolsets.delegation.allow_workers: b");
  EXPECT_EQ(*BeyondParent(parent, child), std::nullopt);
  EXPECT_EQ(*BeyondParent(parent, parent), std::nullopt);
}

TEST(PolicyDiffTest, WhatHasNoOrderIsNotWithin) {
  const WholePolicy parent = Worker({.tool_approval = {{"send", true}}});
  EXPECT_NE((*BeyondParent(Worker({}), parent)).value_or("").find("tool_rules.send"),
            std::string::npos);
}

TEST(PolicyDiffTest, AgentsOfBundlesCountWithin) {
  WholePolicy parent, child;
  parent.bundle = BundleWith({.deny = {"Write"}});
  child.bundle = BundleWith({});
  EXPECT_EQ(**BeyondParent(child, parent), "agent.tools: Write");
  EXPECT_EQ(*BeyondParent(parent, child), std::nullopt);
}

TEST(PolicyDiffTest, WhatCannotBeComparedIsAnError) {
  SandboxRequest bad;
  bad.mounts = {{"/srv/../etc", "/a"}};
  EXPECT_EQ(CompareRequests({}, bad).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace odyssey::ctl
