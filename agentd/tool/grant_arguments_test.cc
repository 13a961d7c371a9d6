#include "agentd/tool/grant_arguments.h"

#include <gtest/gtest.h>

#include "agentd/tool/bash_tool.h"
#include "policy/model/tool_table.h"

namespace odyssey::tools {
namespace {

namespace sup = ::odyssey::supervisor::v1;
using Json = nlohmann::json;

// Of a call of Bash with these grants.
Result<GrantRequest> Parse(const std::string& grants, const std::string& more = "") {
  ODY_ASSIGN_OR_RETURN(const Arguments given,
                       Arguments::Parse(policy::FindTool(policy::kBash)->arguments,
                                        R"({"command":"x","grants":)" + grants + more + "}"));
  return ParseGrants(given);
}

std::string ErrorOf(const std::string& grants, const std::string& more = "") {
  const Status status = Parse(grants, more).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << grants;
  return status.message();
}

TEST(GrantArgumentsTest, EachElementIsOneAddition) {
  const std::string text = R"([{"mount_read":"/srv/in"},{"mount_write":"/srv/out"},
      {"executable":"git"},{"executable":"/opt/x/run"},{"limit":"memory_bytes","value":1073741824}])";
  const auto parsed = Parse(text, R"(,"reason":"why")");
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_EQ(parsed->reason, "why");
  ASSERT_EQ(parsed->grants.grants_size(), 5);
  EXPECT_EQ(parsed->grants.grants(0).key(), sup::GRANT_KEY_MOUNT_READ);
  EXPECT_EQ(parsed->grants.grants(1).value(), "/srv/out");
  EXPECT_EQ(parsed->grants.grants(4).limit(), "memory_bytes");
  EXPECT_EQ(parsed->grants.grants(4).value(), "1073741824");
  Json back = Json::array();
  for (const auto& grant : parsed->grants.grants()) back.push_back(GrantArgument(grant));
  EXPECT_EQ(back, Json::parse(text));
}

TEST(GrantArgumentsTest, WrongOnesAreNamed) {
  const std::string one =
      "grants[0]: give one of mount_read, mount_write, executable, network, or "
      "limit";
  for (const char* grants : {R"([{}])", R"([{"mount_read":"/a","executable":"git"}])",
                             R"([{"limit":"pids"}])", R"([{"mount_read":"/a","value":1}])"}) {
    EXPECT_EQ(ErrorOf(grants).rfind(one, 0), 0u) << ErrorOf(grants);
  }
  EXPECT_EQ(ErrorOf(R"([{"networks":"full"}])"),
            "grants[0]: unknown argument \"networks\"; allowed: mount_read, mount_write, "
            "executable, network, limit, value");
  for (const char* place : {"full", "example.com", "127.0.0.1:80", "example.com:6443", "a b:80",
                            "*.example.com:80", "169.254.169.254:80", "example.com:0"}) {
    const std::string error = ErrorOf(Json::array({{{"network", place}}}).dump());
    EXPECT_EQ(error.rfind("grants[0].network: ", 0), 0u) << place << ": " << error;
  }
  EXPECT_TRUE(Parse(R"([{"network":"api.example.com:443"}])").ok());
  for (const char* path : {"srv", "/srv/../etc", "/srv/", "//srv", "/srv/./x", ""}) {
    EXPECT_NE(ErrorOf(Json::array({{{"mount_write", path}}}).dump())
                  .find("a normalised absolute path of the host is allowed"),
              std::string::npos)
        << path;
  }
  EXPECT_NE(ErrorOf(R"([{"executable":"bin/git"}])").find("grants[0].executable: bin/git: a name"),
            std::string::npos);
  EXPECT_NE(ErrorOf(R"([{"limit":"disk_bytes","value":1}])").find("grants[0].limit: disk_bytes"),
            std::string::npos);
  EXPECT_NE(ErrorOf(R"([{"limit":"pids","value":99999999999}])").find("grants[0].value"),
            std::string::npos);
  EXPECT_NE(ErrorOf("[]", R"(,"reason":"why")").find("reason: without grants"), std::string::npos);
  Json many = Json::array();
  for (size_t i = 0; i <= kMaxGrants; ++i) many.push_back({{"executable", "git"}});
  EXPECT_EQ(ErrorOf(many.dump()), "grants: 17 elements; at most 16");
}

TEST(GrantArgumentsTest, ACallThatNamesAWrongOneIsNeitherAskedAboutNorRun) {
  const auto tool = NewBashTool();
  EXPECT_EQ(tool->ForRules(R"({"command":"x","grants":[{"mount_read":"x"}]})").status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(tool->GrantsOf(R"({"command":"x"})").grants.grants_size(), 0);
}

}  // namespace
}  // namespace odyssey::tools
