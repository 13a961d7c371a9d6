#include "agentd/session/attachments.h"

#include <gtest/gtest.h>

namespace odyssey::session {
namespace {

TEST(AttachmentsTest, PathsNameFilesOfTheWorkspace) {
  const dialect::AttachmentPolicy policy;
  EXPECT_TRUE(CheckAttachmentNames({"a.md", "sub/b", "..c/d.."}, policy).ok());
  for (const char* path : {"", "/etc/passwd", "~/x", "..", "a/../b", "./a", "dir/", "."}) {
    const Status refused = CheckAttachmentNames({path}, policy);
    EXPECT_EQ(refused.code(), Code::kInvalidArgument) << path;
    EXPECT_EQ(refused.detail().field, "attachments") << path;
  }
  EXPECT_EQ(CheckAttachmentNames({"a/b", "a_b"}, policy).code(), Code::kInvalidArgument)
      << "one copy would take the other's place";
}

TEST(AttachmentsTest, CountSuffixesAndBytesAreThePolicys) {
  dialect::AttachmentPolicy policy;
  policy.max_count = 1;
  EXPECT_EQ(CheckAttachmentNames({"a", "b"}, policy).code(), Code::kPermissionDenied);
  policy.allowed_suffixes = {".md"};
  policy.denied_suffixes = {".secret.md"};
  EXPECT_TRUE(CheckAttachmentNames({"x/NOTES.MD"}, policy).ok());
  EXPECT_EQ(CheckAttachmentNames({"a.txt"}, policy).code(), Code::kPermissionDenied);
  EXPECT_EQ(CheckAttachmentNames({"d.md/a"}, policy).code(), Code::kPermissionDenied);
  EXPECT_EQ(CheckAttachmentNames({"k.secret.md"}, policy).code(), Code::kPermissionDenied);
  EXPECT_TRUE(CheckAttachmentBytes(policy.max_total_bytes, policy).ok());
  EXPECT_EQ(CheckAttachmentBytes(policy.max_total_bytes + 1, policy).code(),
            Code::kPermissionDenied);
}

}  // namespace
}  // namespace odyssey::session
