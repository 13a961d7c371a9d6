// Rules on paths, where a path has a symbolic link: what it leads to is judged too.

#include <gtest/gtest.h>

#include <algorithm>

#include "agentd/session/sessions.h"
#include "tests/fakes/bundle_source.h"
#include "tests/fakes/session_world.h"

namespace odyssey::session {
namespace {

using approval::Decision;
using fakes::BundleSource;
using fakes::CallOnce;
using fakes::SessionWorld;

constexpr char kReadLink[] = R"({"path":"pub/link"})";
constexpr char kWriteLink[] = R"({"content":"new","path":"pub/link"})";

class SessionLinksTest : public ::testing::Test {
 protected:
  // A session whose file pub/link leads to secrets/a. The fake does not follow links: what is read
  // or written under the name of the link would be seen.
  std::string CreateWithLink(SessionWorld& world, const BundleSource& bundle) {
    std::string session = world.Create(bundle.path());
    const sandbox::FilePlace cell("cel_" + session);
    EXPECT_TRUE(world.sandbox().WriteFile(cell, "secrets/a", "token\n", 0).ok());
    EXPECT_TRUE(world.sandbox().WriteFile(cell, "pub/link", "token\n", 0).ok());
    world.sandbox().links["pub/link"] = "/workspace/secrets/a";
    return session;
  }
  static std::string ResultOf(SessionWorld& world, const std::string& session) {
    return world.Await(session, event::Event::kToolCallFinished).tool_call_finished().result_json();
  }
};

TEST_F(SessionLinksTest, ADeniedFileIsNotReadThroughALink) {
  SessionWorld world(CallOnce("Read", kReadLink));
  const BundleSource bundle("{deny: ['Read(secrets/**)']}");
  const std::string session = CreateWithLink(world, bundle);
  world.AwaitEnd(session, world.Submit(session));
  const std::string result = ResultOf(world, session);
  EXPECT_EQ(result.find("token"), std::string::npos) << result;
  EXPECT_NE(result.find("permission denied: tool Read(secrets/**) is denied"), std::string::npos)
      << result;
}

TEST_F(SessionLinksTest, ADeniedFileIsNotWrittenThroughALink) {
  SessionWorld world(CallOnce("Write", kWriteLink));
  const BundleSource bundle("{deny: ['Write(secrets/**)']}");
  const std::string session = CreateWithLink(world, bundle);
  world.AwaitEnd(session, world.Submit(session));
  EXPECT_NE(ResultOf(world, session).find("is denied"), std::string::npos);
  auto files = world.sandbox().files(session);
  EXPECT_EQ(files["secrets/a"] + files["pub/link"], "token\ntoken\n");
}

TEST_F(SessionLinksTest, AnAllowedFileIsReadWhereTheLinkLeads) {
  SessionWorld world(CallOnce("Read", kReadLink));
  const BundleSource bundle("{deny: ['Read(other/**)']}");
  const std::string session = CreateWithLink(world, bundle);
  world.AwaitEnd(session, world.Submit(session));
  EXPECT_EQ(ResultOf(world, session), R"({"content":"token\n","path":"pub/link"})");
}

// One question, about the file itself.
TEST_F(SessionLinksTest, APersonIsAskedWithBothPaths) {
  for (const char* rules : {"{ask: ['Write(secrets/**)']}", "{ask: ['Write(pub/**)']}"}) {
    SessionWorld world(CallOnce("Write", kWriteLink));
    const BundleSource bundle(rules);
    const std::string session = CreateWithLink(world, bundle);
    const std::string turn = world.Submit(session);
    const auto request =
        world.Await(session, event::Event::kPermissionRequested).permission_requested();
    EXPECT_EQ(request.leads_to(), "/workspace/secrets/a");
    EXPECT_NE(request.arguments_json().find("pub/link"), std::string::npos);
    EXPECT_NE(request.diff().find("secrets/a"), std::string::npos) << request.diff();
    ASSERT_TRUE(world.approvals().Resolve(request.request_id(), {Decision::kAllowOnce, "", 5}));
    EXPECT_EQ(world.AwaitEnd(session, turn).status, TurnStatus::kCompleted);
    EXPECT_EQ(world.sandbox().files(session)["secrets/a"], "new");
    EXPECT_EQ(world.sandbox().files(session)["pub/link"], "token\n");
    const auto names = world.EventNames(session);
    EXPECT_EQ(std::count(names.begin(), names.end(), "permission_requested"), 1);
  }
}

// What a person always allows is one rule's question, and not that of the file that a link leads
// to.
TEST_F(SessionLinksTest, AGrantForTheNameIsNoneForWhereItLeads) {
  SessionWorld world(CallOnce("Write", kWriteLink));
  const BundleSource bundle("{ask: ['Write(pub/**)', 'Write(secrets/**)']}");
  const std::string session = CreateWithLink(world, bundle);
  approval::Question earlier;
  earlier.set_session_id(session);
  earlier.mutable_request()->set_request_id("apr_earlier");
  earlier.mutable_request()->set_scope("Write(pub/**)");
  world.approvals().Add(earlier, [](const approval::Answer&) {});
  ASSERT_TRUE(world.approvals().Resolve("apr_earlier", {Decision::kAllowAlways, "", 5}));
  const std::string turn = world.Submit(session);
  const auto request =
      world.Await(session, event::Event::kPermissionRequested).permission_requested();
  EXPECT_EQ(request.rule(), "Write(secrets/**)");
  ASSERT_TRUE(world.approvals().Resolve(request.request_id(), {Decision::kDeny, "", 5}));
  world.AwaitEnd(session, turn);
  EXPECT_EQ(world.sandbox().files(session)["secrets/a"], "token\n");
}

// A path that leads on each time it is used.
TEST_F(SessionLinksTest, APathThatNeverStaysIsRefused) {
  SessionWorld world(CallOnce("Read", kReadLink));
  const BundleSource bundle("{deny: ['Read(other/**)']}");
  const std::string session = CreateWithLink(world, bundle);
  world.sandbox().links["secrets/a"] = "/workspace/secrets/b";
  world.sandbox().links["secrets/b"] = "/workspace/secrets/a";
  world.AwaitEnd(session, world.Submit(session));
  EXPECT_NE(ResultOf(world, session).find("leads to another file each time it is used"),
            std::string::npos);
}

}  // namespace
}  // namespace odyssey::session
