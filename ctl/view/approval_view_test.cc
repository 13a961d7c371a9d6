#include "ctl/view/approval_view.h"

#include <gtest/gtest.h>

namespace odyssey::ctl {
namespace {

TEST(ApprovalTextTest, ShowsExactlyWhatWouldRun) {
  agent::v1::PermissionRequested request;
  request.set_tool_name("Bash");
  request.set_rule("Bash(curl:*)");
  request.set_arguments_json(R"({"command":"curl x\nrm -rf ~\r# nothing","timeout":5})");
  request.set_cwd("/workspace");
  request.set_scope("Bash(curl:*): curl, rm");
  EXPECT_EQ(FormatApproval(request, Extent::kFolded, false),
            "? Bash asks for approval  (rule Bash(curl:*))\n"
            "    timeout: 5\n"
            "    command: curl x\n"
            "      rm -rf ~\\r# nothing\n"
            "    in /workspace\n"
            "    always means: Bash(curl:*): curl, rm\n");
}

agent::v1::Grant Addition(supervisor::v1::GrantKey key, const std::string& value,
                          const std::string& limit = "", const std::string& present = "") {
  agent::v1::Grant out;
  out.set_key(key);
  out.set_value(value);
  out.set_limit(limit);
  if (!present.empty()) out.set_present(present);
  return out;
}

TEST(ApprovalTextTest, SaysWhatACallAddsToTheCellAndWhy) {
  agent::v1::PermissionRequested request;
  request.set_tool_name("Bash");
  request.set_arguments_json(R"({"command":"make"})");
  request.set_reason("the \x1b[2Jbuild\nneeds it");
  *request.mutable_grants()->add_grants() =
      Addition(supervisor::v1::GRANT_KEY_MOUNT_WRITE, "/srv/\ndata");
  *request.mutable_grants()->add_grants() =
      Addition(supervisor::v1::GRANT_KEY_MOUNT_READ, "/srv/in");
  *request.mutable_grants()->add_grants() = Addition(supervisor::v1::GRANT_KEY_EXECUTABLE, "make");
  *request.mutable_grants()->add_grants() =
      Addition(supervisor::v1::GRANT_KEY_LIMIT, "4294967296", "memory_bytes", "536870912");
  *request.mutable_grants()->add_grants() =
      Addition(supervisor::v1::GRANT_KEY_LIMIT, "64", "pids", "32");
  EXPECT_EQ(FormatApproval(request, Extent::kFolded, false),
            "? Bash asks for approval\n"
            "    command: make\n"
            "    adds to the cell:\n"
            "      read and write /srv/\\ndata on the host\n"
            "      read /srv/in on the host\n"
            "      execute make\n"
            "      memory_bytes 4294967296 (4 GiB) instead of 536870912 (512 MiB)\n"
            "      pids 64 instead of 32\n"
            "    the model's reason: the \\e[2Jbuild\\nneeds it\n");
}

TEST(ApprovalTextTest, AWriteIsItsDifferenceAndItsPathExactly) {
  agent::v1::PermissionRequested request;
  request.set_tool_name("Write");
  request.set_arguments_json(R"({"content":"one\ntwo\n","path":"a\nb"})");
  request.set_cwd("/workspace");
  request.set_diff("--- a/a\n+++ b/a\n@@ -1 +1,2 @@\n one\n+two\x1b[2J\r\n");
  EXPECT_EQ(FormatApproval(request, Extent::kFolded, false),
            "? Write asks for approval\n"
            "    content: 2 lines, see the diff\n"
            "    path: a\n"
            "      b\n"
            "    --- a/a\n"
            "    +++ b/a\n"
            "    @@ -1 +1,2 @@\n"
            "     one\n"
            "    +two\\e[2J\\r\n"
            "    in /workspace\n");
}

TEST(ApprovalTextTest, ALinkIsShownWithWhereItLeads) {
  agent::v1::PermissionRequested request;
  request.set_tool_name("Read");
  request.set_arguments_json(R"({"path":"pub/link"})");
  request.set_leads_to("/workspace/secrets/a\n");
  EXPECT_EQ(FormatApproval(request, Extent::kFolded, false),
            "? Read asks for approval\n"
            "    path: pub/link\n"
            "    leads to: /workspace/secrets/a\\n\n");
}

TEST(ApprovalTextTest, SeveralEditsAreTheirDifference) {
  agent::v1::PermissionRequested request;
  request.set_tool_name("MultiEdit");
  request.set_arguments_json(
      R"({"edits":[{"old_text":"a","new_text":"b"},{"old_text":"c","new_text":"d"}],"path":"f"})");
  request.set_diff("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-ac\n+bd\n");
  EXPECT_EQ(FormatApproval(request, Extent::kFolded, false),
            "? MultiEdit asks for approval\n"
            "    edits: 2 entries, see the diff\n"
            "    path: f\n"
            "    --- a/f\n"
            "    +++ b/f\n"
            "    @@ -1 +1 @@\n"
            "    -ac\n"
            "    +bd\n");
}

TEST(ApprovalTextTest, ADifferenceThatShowsNoContentDoesNotStandForIt) {
  agent::v1::PermissionRequested request;
  request.set_tool_name("Write");
  request.set_arguments_json(R"({"content":"curl x | sh\n","path":"a"})");
  request.set_diff("diff --git a/a b/a\nBinary files a/a and b/a differ\n");
  EXPECT_NE(FormatApproval(request, Extent::kFolded, false).find("curl x | sh"), std::string::npos);
}

TEST(ApprovalTextTest, ALongDifferenceSaysThatItIsCut) {
  agent::v1::PermissionRequested request;
  request.set_tool_name("Write");
  request.set_arguments_json(R"({"path":"a"})");
  std::string diff = "@@ -0,0 +1,99 @@\n";
  for (int i = 0; i < 99; ++i) diff += "+x\n";
  request.set_diff(diff);
  const std::string text = FormatApproval(request, Extent::kFolded, false);
  EXPECT_NE(text.find("    … 40 more lines; odyssey-ctl -o json approval list shows them all\n"),
            std::string::npos)
      << text;
}

TEST(ApprovalTextTest, ArgumentsThatAreNoObjectAreShownAsTheyAre) {
  agent::v1::PermissionRequested request;
  request.set_tool_name("Write");
  request.set_arguments_json("not json \x1b");
  EXPECT_NE(FormatApproval(request, Extent::kFolded, false).find("arguments: not json \\e"),
            std::string::npos);
}

TEST(ApprovalTextTest, EndlessArgumentsSayThatTheyAreCut) {
  agent::v1::PermissionRequested request;
  std::string content;
  for (int i = 0; i < 100; ++i) content += "x\\n";
  request.set_arguments_json("{\"content\":\"" + content + "\"}");
  const std::string text = FormatApproval(request, Extent::kFolded, false);
  EXPECT_NE(text.find("… 40 more lines; odyssey-ctl -o json approval list shows them all\n"),
            std::string::npos)
      << text;
}

TEST(ApprovalTextTest, TheWholeTextCutsNothing) {
  agent::v1::PermissionRequested request;
  request.set_tool_name("Write");
  request.set_arguments_json(R"({"path":"a"})");
  std::string diff = "@@ -0,0 +1,99 @@\n";
  for (int i = 0; i < 99; ++i) diff += "+x" + std::to_string(i) + "\n";
  request.set_diff(diff);
  const std::string text = FormatApproval(request, Extent::kWhole, false);
  EXPECT_NE(text.find("+x98\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("more line"), std::string::npos) << text;
}

TEST(ApprovalTextTest, NamesEveryCommandThatALineStarts) {
  agent::v1::PermissionRequested request;
  request.set_tool_name("Bash");
  request.set_arguments_json(R"({"command":"x"})");
  const auto add = [&](const char* kind, std::vector<std::string> argv) {
    auto* command = request.mutable_parsed()->add_commands();
    command->set_kind(kind);
    command->mutable_argv()->Assign(argv.begin(), argv.end());
  };
  add("runs", {"x"});
  EXPECT_EQ(FormatApproval(request, Extent::kFolded, false).find("starts:"), std::string::npos);
  add("wrapper", {"timeout", "5"});
  add("runs", {"rm", "a b\x01", "\x1b"});
  add("opaque", {"eval"});
  EXPECT_NE(FormatApproval(request, Extent::kFolded, false)
                .find("    starts:\n"
                      "      x\n"
                      "      timeout 5  (starts the next one)\n"
                      "      rm 'a b…' '\\e'\n"
                      "      known only when it runs: eval\n"),
            std::string::npos)
      << FormatApproval(request, Extent::kFolded, false);
}

TEST(ApprovalTextTest, ADecisionSaysWhoseItWasAndWhy) {
  agent::v1::ApprovalResolved resolved;
  resolved.set_decision("deny");
  resolved.set_by_uid(5);
  EXPECT_EQ(DescribeDecision(resolved), "denied by uid 5");
  resolved.set_by("timeout");
  resolved.set_note("no answer in 5 s\r");
  EXPECT_EQ(DescribeDecision(resolved), "denied by agentd (timeout): no answer in 5 s\\r");
}

}  // namespace
}  // namespace odyssey::ctl
