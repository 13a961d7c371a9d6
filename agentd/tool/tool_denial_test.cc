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

TEST(ToolDenialTest, ACountOfOneSaysNothing) {
  supervisor::v1::Denial denial;
  denial.set_kind("path");
  denial.set_count(1);
  EXPECT_EQ(DenialForModel(denial), Json::parse(R"({"kind":"path"})"));
}

}  // namespace
}  // namespace odyssey::tools
