#include "ctl/review_view.h"

#include <gtest/gtest.h>

namespace odyssey::ctl {
namespace {

supervisor::v1::Finding Finding(const std::string& path) {
  supervisor::v1::Finding finding;
  finding.set_kind(supervisor::v1::FINDING_KIND_NAME);
  finding.set_path("/workspace/x");
  finding.set_host_path(path);
  finding.set_reason("made or changed: direnv runs it");
  return finding;
}

TEST(ReviewViewTest, ALineForEach) {
  supervisor::v1::ReviewCellResponse review;
  EXPECT_EQ(FormatReview(review), "nothing that the host would run or obey\n");
  *review.add_findings() = Finding("/p/.envrc");
  *review.add_findings() = Finding("/p/d/.envrc");
  EXPECT_EQ(FormatReview(review),
            "left: /p/.envrc: made or changed: direnv runs it\n"
            "left: /p/d/.envrc: made or changed: direnv runs it\n");
}

TEST(ReviewViewTest, NamesOfACellDoNotReachTheTerminal) {
  const std::string line = FindingLine(Finding("/p/\x1b]52;c;aGk=\x07\r\nleft: \xE2\x80\xAE/.git"));
  EXPECT_EQ(line.find_first_of("\x1b\x07\r\n"), std::string::npos) << line;
  EXPECT_EQ(line.find("\xE2\x80\xAE"), std::string::npos) << line;
}

}  // namespace
}  // namespace odyssey::ctl
