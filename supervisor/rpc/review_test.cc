#include "supervisor/rpc/review.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/plan/cell_wire.h"

namespace odyssey::supervisor {
namespace {

using plan::Access;
using plan::EntryKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ReviewTest : public ::testing::Test {
 protected:
  ReviewTest() {
    compiled_.confinement.searched = {"/workspace"};
    compiled_.plan.entries = {
        {.kind = EntryKind::kHostTree,
         .target = "/workspace",
         .source = "/home/u/p",
         .access = Access::kReadWrite},
        {.kind = EntryKind::kHostTree, .target = "/workspace/lib", .source = "/srv/lib"},
        {.kind = EntryKind::kPart, .target = "/workspace/.git/config"},
        {.kind = EntryKind::kPart, .target = "/workspace/.vscode"},
        {.kind = EntryKind::kPart, .target = "/workspace/.git", .access = Access::kReadWrite}};
  }
  std::vector<Finding> Judge(const std::vector<tool::ListEntry>& entries) const {
    tool::Response response;
    response.entries = entries;
    return JudgeReview(compiled_, response);
  }

  compile::Compiled compiled_;
};

TEST_F(ReviewTest, AsksForThePlacesThatAreKeptOutsideOfRepositories) {
  const tool::Request request = ReviewRequest(compiled_);
  EXPECT_EQ(request.op, tool::Op::kReview);
  EXPECT_THAT(request.names, ElementsAre("/workspace/.vscode"));
  tool::Request decoded;
  ASSERT_TRUE(tool::Decode(tool::Encode(request), &decoded).ok());
  EXPECT_EQ(decoded, request);
}

TEST_F(ReviewTest, OnlyWritableHostTreesInWhichSomethingIsProtectedAreReviewed) {
  EXPECT_TRUE(IsReviewable(compiled_));
  compiled_.confinement.searched.clear();
  EXPECT_TRUE(IsReviewable(compiled_));  // `protect` named something
  compiled_.plan.entries.erase(compiled_.plan.entries.begin() + 2, compiled_.plan.entries.end());
  EXPECT_FALSE(IsReviewable(compiled_));
  compiled_.confinement.searched = {"/workspace"};
  compiled_.plan.entries[0].access = Access::kReadOnly;
  EXPECT_FALSE(IsReviewable(compiled_));
}

TEST_F(ReviewTest, SaysWhereOnTheHostAndWhatWouldRunIt) {
  const auto findings = Judge({{.path = "/workspace/sub/.vscode", .type = tool::kFoundName},
                               {.path = "/workspace/.yarn", .type = tool::kFoundName},
                               {.path = "/workspace/deploy.sh", .type = tool::kFoundName},
                               {.path = "/workspace", .type = tool::kUnfinished}});
  ASSERT_EQ(findings.size(), 4u);
  EXPECT_EQ(findings[0].kind, FindingKind::kUnfinished);
  EXPECT_EQ(findings[0].host_path, "/home/u/p");
  EXPECT_EQ(findings[1].host_path, "/home/u/p/.yarn");
  EXPECT_THAT(findings[1].reason, HasSubstr("yarn runs"));
  EXPECT_THAT(findings[2].reason, HasSubstr("the policy protects it"));
  EXPECT_EQ(findings[3].path, "/workspace/sub/.vscode");
  EXPECT_EQ(findings[3].host_path, "/home/u/p/sub/.vscode");
  EXPECT_THAT(findings[3].reason, HasSubstr("the editor runs"));
}

TEST_F(ReviewTest, ACellSaysNothingOfOtherPlacesNorInWordsOfItsOwn) {
  EXPECT_THAT(Judge({{.path = "/etc/passwd", .type = tool::kFoundName},
                     {.path = "/workspace2/.envrc", .type = tool::kFoundName},
                     {.path = "/workspace/lib/.envrc", .type = tool::kFoundName},
                     {.path = "", .type = tool::kFoundName},
                     {.path = "/workspace/.envrc", .type = "all is well"}}),
              IsEmpty());
  EXPECT_EQ(Judge({{.path = "/workspace/\xff", .type = tool::kFoundRebase}})[0].path,
            "/workspace/\xef\xbf\xbd");
  const tool::ListEntry one = {.path = "/workspace/x", .type = tool::kFoundRebase};
  EXPECT_LE(Judge(std::vector<tool::ListEntry>(5000, one)).size(), 2 * tool::kMaxFindings);
}

TEST_F(ReviewTest, NewsIsToldOnceAndAgainWhenItWasRemovedMeanwhile) {
  const Finding a = {.path = "/a"}, b = {.path = "/b"};
  const Finding other = {.kind = FindingKind::kRebase, .path = "/a"};
  ToldFindings told;
  EXPECT_THAT(TakeNews({a}, &told), ElementsAre(a));
  EXPECT_THAT(TakeNews({a, b, other}, &told), ElementsAre(b, other));
  EXPECT_THAT(TakeNews({a, b, other}, &told), IsEmpty());
  EXPECT_THAT(TakeNews({b}, &told), IsEmpty());
  EXPECT_THAT(TakeNews({a, b}, &told), ElementsAre(a));
}

}  // namespace
}  // namespace odyssey::supervisor
