#include "agentd/tool/tool_denial.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace odyssey::tools {
namespace {

using Json = nlohmann::json;

TEST(ToolDenialTest, ModelsReadWhatIsKnown) {
  supervisor::v1::Denial denial;
  denial.set_kind("limit");
  denial.set_resource("memory_bytes");
  denial.set_rule("cgroup memory_bytes 1");
  denial.set_count(3);
  denial.set_verdict("kill");
  EXPECT_EQ(DenialForModel(denial), Json::parse(R"({"kind":"limit","resource":"memory_bytes",
      "rule":"cgroup memory_bytes 1","count":3,"verdict":"kill"})"));
}

TEST(ToolDenialTest, ModelsReadHowToAskForIt) {
  supervisor::v1::Denial denial;
  denial.set_grant_key(supervisor::v1::GRANT_KEY_MOUNT_WRITE);
  denial.set_grant_value("/srv/data");
  EXPECT_EQ(DenialForModel(denial)["ask"],
            R"(call Bash again with "grants": [{"mount_write":"/srv/data"}] and a "reason": )"
            "a person is asked; it is then at /workspace/mount/write/abs/srv/data; "
            "a directory above it can be named too");
  denial.set_resource("pids");
  denial.set_grant_key(supervisor::v1::GRANT_KEY_LIMIT);
  denial.set_grant_value("64");
  EXPECT_EQ(DenialForModel(denial)["ask"],
            R"(call Bash again with "grants": [{"limit":"pids","value":64}] and a "reason": )"
            "a person is asked");
}

TEST(ToolDenialTest, WhatNoPersonCanGrantIsNotOffered) {
  supervisor::v1::Denial denial;
  denial.set_grant_key(supervisor::v1::GRANT_KEY_NETWORK_FULL);
  EXPECT_FALSE(DenialForModel(denial).contains("ask"));
  denial.set_resource("disk_bytes");
  denial.set_grant_key(supervisor::v1::GRANT_KEY_LIMIT);
  denial.set_grant_value("64");
  EXPECT_FALSE(DenialForModel(denial).contains("ask"));
}

TEST(ToolDenialTest, ACountOfOneSaysNothing) {
  supervisor::v1::Denial denial;
  denial.set_kind("path");
  denial.set_count(1);
  EXPECT_EQ(DenialForModel(denial), Json::parse(R"({"kind":"path"})"));
}

}  // namespace
}  // namespace odyssey::tools
