#include "ctl/view/denial_line.h"

#include <gtest/gtest.h>

namespace odyssey::ctl {
namespace {

supervisor::v1::Denial Denial(bool hint = false) {
  supervisor::v1::Denial denial;
  denial.set_access("write");
  denial.set_resource("/srv/x");
  denial.set_rule("mount /srv read_only");
  denial.set_grant("a.b: [\"/srv\"]");
  denial.set_hint(hint);
  return denial;
}

TEST(DenialLineTest, NamesWhatWhyAndTheGrant) {
  EXPECT_EQ(DenialLine(Denial()),
            "denied: write /srv/x (mount /srv read_only); to allow: a.b: [\"/srv\"]");
}

TEST(DenialLineTest, NamesWhoAndHowOften) {
  supervisor::v1::Denial denial;
  denial.set_access("call");
  denial.set_resource("mount");
  denial.set_rule("seccomp");
  denial.set_process("mount[7]");
  denial.set_count(1);
  EXPECT_EQ(DenialLine(denial), "denied: call mount (seccomp) by mount[7]");
  denial.set_count(3);
  EXPECT_EQ(DenialLine(denial), "denied: call mount (seccomp) by mount[7], 3 times");
  denial.set_verdict("kill");
  EXPECT_EQ(DenialLine(denial), "killed: call mount (seccomp) by mount[7], 3 times");
  denial.set_verdict("cut");
  EXPECT_EQ(DenialLine(denial), "cut: call mount (seccomp) by mount[7], 3 times");
}

// A command may name what it wants to be granted.
TEST(DenialLineTest, MarksAHint) {
  EXPECT_EQ(DenialLine(Denial(/*hint=*/true)).substr(0, 15), "maybe denied: w");
}

TEST(DenialLineTest, WithoutResourceOrGrant) {
  supervisor::v1::Denial denial = Denial();
  denial.clear_resource();
  denial.clear_grant();
  EXPECT_EQ(DenialLine(denial), "denied: write (mount /srv read_only)");
}

TEST(DenialLineTest, TextOfACommandDoesNotReachTheTerminal) {
  supervisor::v1::Denial denial = Denial(/*hint=*/true);
  denial.set_resource("/x\x1b]52;c;aGk=\x07\r\nodyssey-ctl: denied: \xE2\x80\xAE");
  const std::string line = DenialLine(denial);
  EXPECT_EQ(line.find_first_of("\x1b\x07\r\n"), std::string::npos) << line;
  EXPECT_EQ(line.find("\xE2\x80\xAE"), std::string::npos) << line;
}

TEST(DenialLineTest, CountsThoseThatWereNotSent) {
  const auto lines = DenialLines({Denial()}, 17);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1], "denied: 16 more");
  EXPECT_EQ(DenialLines({Denial()}, 1).size(), 1u);
}

}  // namespace
}  // namespace odyssey::ctl
