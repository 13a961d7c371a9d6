#include "agentd/base/redactor.h"

#include <gtest/gtest.h>

namespace odyssey::agent {
namespace {

const Redactor& Known() {
  static const Redactor kKnown({{"TOKEN", "hunter2-hunter2"},
                                {"LONGER", "hunter2-hunter2-more"},
                                {"QUOTED", "a\"b\\c\"d\"e"},
                                {"SHORT", "en"}});
  return kKnown;
}
const std::string kGithub = "ghp_" + std::string(36, 'x');

TEST(RedactorTest, TakesOutValuesByTheirName) {
  EXPECT_EQ(Known().Text("t=hunter2-hunter2."), "t=[REDACTED:TOKEN].");
  EXPECT_EQ(Known().Text("hunter2-hunter2-more"), "[REDACTED:LONGER]");
  EXPECT_EQ(Known().Text("hunter2-hunter en"), "hunter2-hunter en");
}

TEST(RedactorTest, TakesOutKeysOfKnownShapes) {
  EXPECT_EQ(Known().Text("x " + kGithub + "!"), "x [REDACTED:github_token]!");
  EXPECT_EQ(Known().Text("AKIA0123456789ABCDEF"), "[REDACTED:aws_key_id]");
  EXPECT_EQ(Known().Text("sk-short ghp_x task-force"), "sk-short ghp_x task-force");
}

TEST(RedactorTest, ReadsStringsOfJsonUnescaped) {
  EXPECT_EQ(Known().JsonText(R"({"n":1,"out":["a\"b\\c\"d\"e\n"]})"),
            R"({"n":1,"out":["[REDACTED:QUOTED]\n"]})");
  EXPECT_EQ(Known().JsonText("no json hunter2-hunter2 "), "no json [REDACTED:TOKEN] ");
}

TEST(RedactorTest, PiecesAreReadTogether) {
  const std::string text = "a hunter2-hunter2 b " + kGithub + " hunter2-h c";
  for (size_t size = 1; size < text.size(); ++size) {
    StreamRedactor stream(&Known());
    std::string out;
    for (size_t at = 0; at < text.size(); at += size) out += stream.Push(text.substr(at, size));
    out += stream.Finish();
    EXPECT_EQ(out, "a [REDACTED:TOKEN] b [REDACTED:github_token] hunter2-h c") << size;
  }
}

TEST(RedactorTest, ASecretThatEndsAsAnotherBeginsIsTakenOutWhole) {
  const Redactor redactor({{"A", "12345678ab"}, {"B", "abcdefghij"}});
  StreamRedactor stream(&redactor);
  std::string out = stream.Push("12345678ab");
  out += stream.Push("x");
  EXPECT_EQ(out + stream.Finish(), "[REDACTED:A]x");
}

TEST(RedactorTest, PlainTextIsNotKeptBack) {
  StreamRedactor stream(&Known());
  EXPECT_EQ(stream.Push("progress: ...."), "progress: ....");
}

}  // namespace
}  // namespace odyssey::agent
