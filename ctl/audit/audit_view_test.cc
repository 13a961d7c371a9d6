#include "ctl/audit/audit_view.h"

#include <gtest/gtest.h>

namespace odyssey::ctl {
namespace {

std::string Line(const audit::Record& record) {
  audit::Position position;
  return audit::EncodeLine(record, audit::Time(std::chrono::milliseconds(1'795'308'696'007)),
                           &position);
}

TEST(AuditViewTest, RecordIsOneLineOfNamesAndValues) {
  EXPECT_EQ(FormatAuditLine(Line(audit::Record("exec")
                                     .Text("cell_id", "cel_1")
                                     .Texts("argv", {"sh", "-c", "a b"})
                                     .Number("owner_uid", 1000)
                                     .Text("cwd", "/a b")),
                            false),
            "2026-11-22T00:51:36.007Z 1 exec cell_id=cel_1 argv=[\"sh\",\"-c\",\"a b\"] "
            "owner_uid=1000 cwd=\"/a b\"");
}

TEST(AuditViewTest, TextOfCellsDoesNotReachTheTerminal) {
  const std::string text = FormatAuditLine(
      Line(audit::Record("deny").Text("resource", "\x1b]0;x\x07\r\n\xE2\x80\xAE\x7f")), false);
  EXPECT_EQ(text.find_first_of("\x1b\x07\r\n\x7f"), std::string::npos) << text;
  EXPECT_EQ(text.find("\xE2\x80\xAE"), std::string::npos) << text;
}

TEST(AuditViewTest, WhatIsNoRecordIsMarked) {
  EXPECT_EQ(FormatAuditLine("{\"seq\":1}\x1b[2J", true), "? {\"seq\":1}\\e[2J");
  EXPECT_EQ(FormatAuditLine("[]", false), "? []");
}

TEST(AuditViewTest, VerdictNamesEachProblemAndTheEnd) {
  audit::Position position;
  const std::string first = audit::EncodeLine(audit::Record("start"), {}, &position);
  audit::EncodeLine(audit::Record("exec"), {}, &position);
  const std::string third = audit::EncodeLine(audit::Record("stop"), {}, &position);
  audit::Chain chain({}, position);
  chain.BeginFile("audit-1", 1);
  chain.Add(first);
  chain.Add(third);
  chain.Finish();
  EXPECT_EQ(FormatVerdict(chain),
            "audit-1:2: record 3: before it, record 2 is missing\n1 problem in 2 records, 1 to 3\n"
            "last 3:" +
                position.hash + "\n");
  const Json json = VerdictJson(chain);
  EXPECT_EQ(json["ok"], false);
  EXPECT_EQ(json["problems"][0]["seq"], 3);
}

TEST(AuditViewTest, EmptyLogIsWhole) {
  audit::Chain chain({}, audit::Position{});
  chain.Finish();
  EXPECT_EQ(FormatVerdict(chain), "ok: 0 records\n");
}

}  // namespace
}  // namespace odyssey::ctl
