#include "agentd/session/cell_policy.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <utility>

#include "tests/fakes/bundle_source.h"
#include "tests/fakes/session_world.h"

namespace odyssey::session {
namespace {

using fakes::BundleSource;
using fakes::SessionWorld;
using Value = std::pair<std::string, std::string>;  // and where it is from

std::map<std::string, Value> ValuesOf(const CellPolicy& policy) {
  std::map<std::string, Value> out;
  for (const agent::v1::PolicyValue& each : policy.values) {
    out[each.field()] = {each.value(), each.source()};
  }
  return out;
}

// The bundle has a limit, a mount and an endpoint of its own.
class CellPolicyTest : public ::testing::Test {
 protected:
  CellPolicyTest() {
    bundle_.Write("odyssey.bundle.json5", R"({id: 'demo', version: '0.1.0',
manifest_version: 'odyssey.bundle/v1', readme: 'README.md', agent_spec: 'agent.yaml',
executor: {type: 'prebuilt', id: 'react'}, tools: [{name: 'Bash'}],
sandbox: {mode: 'workspace_write', system_tools_mode: 'standard',
 resources: {pids: 99},
 permissions: {filesystem: {mounts: {read: ['.']}},
  network_policies: {api: {endpoints: [{host: 'api.example.com', port: 443}],
                           binaries: [{path: '/usr/bin/curl'}]}}}}})");
  }

  CellPolicy Describe(const std::vector<SessionGrant>& granted = {}) {
    if (session_.empty()) session_ = world_.Create(bundle_.path());
    const SessionPtr record = *world_.sessions().Get(session_);
    const Runtime& runtime = world_.sessions().runtime();
    const Result<TurnSetup> setup = SetUpTurn(*record, runtime);
    EXPECT_TRUE(setup.ok()) << setup.status().message();
    Result<CellPolicy> out = DescribePolicy(*record, *setup, granted, runtime);
    EXPECT_TRUE(out.ok()) << out.status().message();
    return *std::move(out);
  }

  SessionWorld world_{fakes::CallBash};
  BundleSource bundle_{"{allow: [Bash], deny: ['Bash(rm:*)'], ask: ['Network(*.example.org)']}"};
  std::string session_;
};

TEST_F(CellPolicyTest, AValueIsFromTheLineThatHasIt) {
  const auto values = ValuesOf(Describe());
  EXPECT_EQ(values.at("mode"), Value("workspace_write", "odyssey.bundle.json5:4: sandbox.mode"));
  EXPECT_EQ(values.at("limits.pids"),
            Value("99 processes and threads", "odyssey.bundle.json5:5: sandbox.resources.pids"));
  EXPECT_EQ(values.at("mounts[0]"),
            Value("/ at /workspace/mount/read/current, read-only",
                  "odyssey.bundle.json5:6: sandbox.permissions.filesystem.mounts.read[0]"));
  EXPECT_EQ(values.at("endpoints[0]").second,
            "odyssey.bundle.json5:7: sandbox.permissions.network_policies");
  EXPECT_EQ(values.at("workspace"), Value("private", "the session"));
}

TEST_F(CellPolicyTest, AValueThatNothingSaysIsTheFormatsTheOperatorsOrTheDefault) {
  const auto before = ValuesOf(Describe());
  EXPECT_EQ(before.at("limits.memory_bytes"),
            Value("536870912 bytes", "default of a sandbox file"));
  EXPECT_EQ(before.at("limits.open_files"), Value("1024 files", "default"));
  EXPECT_EQ(before.at("limits.wall_clock_ms"), Value("60000 milliseconds", "default"));

  const std::string directory = world_.state() + "/policy.d";
  std::filesystem::create_directory(directory);
  std::filesystem::permissions(directory, std::filesystem::perms(0755));
  std::ofstream(directory + "/10.yaml") << "version: odyssey.ceiling/v1\n"
                                           "limits: {max: {open_files: 500, wall_clock_s: 7}}\n";
  std::filesystem::permissions(directory + "/10.yaml", std::filesystem::perms(0644));
  const CellPolicy bounded = Describe();
  const auto after = ValuesOf(bounded);
  EXPECT_EQ(after.at("limits.open_files"), Value("500 files", "the operator's ceiling"));
  EXPECT_EQ(after.at("limits.wall_clock_ms"), Value("7000 milliseconds", "the operator's ceiling"));
  EXPECT_EQ(bounded.limits.open_files, 500u);
}

TEST_F(CellPolicyTest, WhatAnApprovalAddedIsFromTheApproval) {
  SessionGrant grant{.id = "apr_1"};
  agent::v1::Grant& mount = *grant.grants.add_grants();
  mount.set_key(supervisor::v1::GRANT_KEY_MOUNT_WRITE);
  mount.set_value("/srv/data");
  agent::v1::Grant& limit = *grant.grants.add_grants();
  limit.set_key(supervisor::v1::GRANT_KEY_LIMIT);
  limit.set_limit("pids");
  limit.set_value("200");
  const CellPolicy policy = Describe({grant});
  const auto values = ValuesOf(policy);
  EXPECT_EQ(values.at("mounts[1]"),
            Value("/srv/data at /workspace/mount/write/abs/srv/data, writable", "approval apr_1"));
  EXPECT_EQ(values.at("limits.pids"), Value("200 processes and threads", "approval apr_1"));
  EXPECT_EQ(values.at("mounts[0]").second.rfind("odyssey.bundle.json5:6", 0), 0u);
  EXPECT_EQ(policy.setup.cell.request.mounts.size(), 2u);
}

TEST_F(CellPolicyTest, RulesAndEndpointsDecideAsTheyDoInATurn) {
  const TurnSetup setup = Describe().setup;
  EXPECT_EQ(DecideCommand(setup, "rm -rf x").verdict, rules::Verdict::kDeny);
  EXPECT_EQ(DecideCommand(setup, "ls").verdict, rules::Verdict::kAllow);
  const rules::Decision unread = DecideCommand(setup, "echo 'a");
  EXPECT_EQ(unread.verdict, rules::Verdict::kDeny) << "a call of it fails";
  EXPECT_NE(unread.reason, "");
  const auto decide = [&](const std::string& host) {
    return DecideDestination(setup, *egress::ParseDestination(host)).verdict;
  };
  EXPECT_EQ(decide("api.example.com:443"), rules::Verdict::kAllow);
  EXPECT_EQ(decide("www.example.org:443"), rules::Verdict::kAsk);
  EXPECT_EQ(decide("www.example.net:443"), rules::Verdict::kDeny);
}

TEST_F(CellPolicyTest, AWorkerIsBoundByTheRulesOfItsCaller) {
  TurnSetup setup = Describe().setup;
  setup.bounds.push_back(*rules::Parse({}, {}, {"Bash(ls:*)"}));
  EXPECT_EQ(DecideCommand(setup, "ls").verdict, rules::Verdict::kDeny);
}

}  // namespace
}  // namespace odyssey::session
