#include "supervisor/rpc/audit_records.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "supervisor/rpc/outcome_fixture.h"

namespace odyssey::supervisor {
namespace {

using Json = nlohmann::json;

Json Encode(const audit::Record& record) {
  audit::Position position;
  return Json::parse(audit::EncodeLine(record, {}, &position));
}

TEST(AuditRecordsTest, CommandHasItsWordsAndNoValueOfTheEnvironment) {
  ExecOptions options;
  options.exec_id = "exe_1";
  options.spec.argv = {"sh", "-c", "echo $TOKEN"};
  options.spec.env = {"TOKEN=hunter2"};
  options.spec.cwd = "/workspace";
  const Json json = Encode(ExecRecord("cel_1", 1000, options));
  EXPECT_EQ(json["type"], "exec");
  EXPECT_EQ(json["argv"], Json({"sh", "-c", "echo $TOKEN"}));
  EXPECT_EQ(json["owner_uid"], 1000);
  EXPECT_EQ(json.dump().find("hunter2"), std::string::npos);
}

TEST(AuditRecordsTest, EndSaysHow) {
  ExecOptions options;
  options.exec_id = "exe_1";
  Outcome outcome{.sent = Sent(v1::OUTCOME_KIND_EXITED, [](v1::ExecOutcome& s) {
                    s.set_exit_code(3);
                    s.set_denials(2);
                  })};
  Json json = Encode(ExecEndRecord("cel_1", options, outcome));
  EXPECT_EQ(json["outcome"], "exited");
  EXPECT_EQ(json["exit_code"], 3);
  EXPECT_EQ(json["denials"], 2);
  EXPECT_FALSE(json.contains("signal"));
  outcome = {.sent = Sent(v1::OUTCOME_KIND_SIGNALLED, [](v1::ExecOutcome& s) { s.set_signal(9); })};
  EXPECT_EQ(Encode(ExecEndRecord("cel_1", options, outcome))["signal"], 9);
}

TEST(AuditRecordsTest, CellHasItsKeyPolicyAndOwnerAndNoValueOfTheEnvironment) {
  const PrepareSpec spec{
      .sandbox = {.workspace = "/home/u/p"}, .bundle_digest = "def", .owner_uid = 1000};
  CellFacts cell;
  cell.id = "cel_1";
  cell.key = {"ses_1", "agent", "tooling", "tools"};
  cell.env = {{"TOKEN", "hunter2"}};
  cell.host_uid = 70001;
  cell.compiled.digest = "abc";
  const Json json = Encode(PrepareRecord(cell, spec, true));
  EXPECT_EQ(json["session_id"], "ses_1");
  EXPECT_EQ(json["policy_digest"], "abc");
  EXPECT_EQ(json["bundle_digest"], "def");
  EXPECT_EQ(json["owner_uid"], 1000);
  EXPECT_EQ(json["host_uid"], 70001);
  EXPECT_EQ(json["created"], true);
  EXPECT_EQ(json.dump().find("hunter2"), std::string::npos);
  EXPECT_FALSE(json.contains("granted_by"));
}

TEST(AuditRecordsTest, CellThatApprovalsWidenedNamesThem) {
  const PrepareSpec spec{.granted_by = {"apr_1", "apr_2"}};
  EXPECT_EQ(Encode(PrepareRecord(CellFacts(), spec, true))["granted_by"],
            Json::array({"apr_1", "apr_2"}));
}

TEST(AuditRecordsTest, FileHasItsPathAndNoContent) {
  const tool::Request request{.op = tool::Op::kWrite, .path = "a.txt", .content = "hunter2"};
  const Json json = Encode(FileRecord("cel_1", request, {.bytes = 7, .created = true}));
  EXPECT_EQ(json["op"], "write");
  EXPECT_EQ(json["path"], "a.txt");
  EXPECT_EQ(json["bytes"], 7);
  EXPECT_EQ(json.dump().find("hunter2"), std::string::npos);

  const tool::Response refused{.code = Code::kPermissionDenied, .error = "no"};
  EXPECT_EQ(Encode(FileRecord("cel_1", request, refused))["code"], "PERMISSION_DENIED");
}

TEST(AuditRecordsTest, DenialSaysWhatWhyAndWhetherItIsAHint) {
  explain::Denial denial{"path", "/usr/x", "write", "mount /usr read_only"};
  const Json json = Encode(DenyRecord("cel_1", "exe_1", denial));
  EXPECT_EQ(json["resource"], "/usr/x");
  EXPECT_EQ(json["rule"], "mount /usr read_only");
  EXPECT_EQ(json["exec_id"], "exe_1");
  EXPECT_FALSE(json.contains("hint"));
  denial.hint = true;
  EXPECT_EQ(Encode(DenyRecord("cel_1", "exe_1", denial))["hint"], true);
}

TEST(AuditRecordsTest, RequestToAModelSaysWhatItTook) {
  egress_wire::Record decision{.verdict = egress_wire::Verdict::kAllowed,
                               .host = "inference.local"};
  EXPECT_FALSE(Encode(EgressRecord("cel_1", "ses_1", decision)).contains("route"));
  decision.inference = {
      .route = "main", .model = "large", .tokens_in = 7, .tokens_out = 5, .cost = 17};
  const Json json = Encode(EgressRecord("cel_1", "ses_1", decision));
  EXPECT_EQ(json["route"], "main");
  EXPECT_EQ(json["model"], "large");
  EXPECT_EQ(json["tokens_in"], 7);
  EXPECT_EQ(json["tokens_out"], 5);
  EXPECT_EQ(json["cost_microdollars"], 17);
}

TEST(AuditRecordsTest, RefusalNamesItsCodeAndItsOwnerIfThereIsOne) {
  const Status why = PermissionDenied("mounts[0].source: /etc: not granted");
  const Json json = Encode(RefuseRecord("prepare", "ses_1/a/b/c", 1000, why));
  EXPECT_EQ(json["code"], "PERMISSION_DENIED");
  EXPECT_EQ(json["owner_uid"], 1000);
  EXPECT_FALSE(Encode(RefuseRecord("exec", "cel_1", std::nullopt, why)).contains("owner_uid"));
}

}  // namespace
}  // namespace odyssey::supervisor
