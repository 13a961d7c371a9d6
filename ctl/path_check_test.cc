#include "ctl/path_check.h"

#include <gtest/gtest.h>

namespace odyssey::ctl {
namespace {

policy::SandboxRequest Request() {
  policy::SandboxRequest request;
  request.mounts = {
      {"/srv/a", "/workspace/mount/read/abs/srv/a", policy::Access::kReadOnly},
      {"/srv/a/out", "/workspace/mount/write/abs/srv/a/out", policy::Access::kReadWrite}};
  return request;
}

TEST(PathCheckTest, DeepestMountDecides) {
  const Result<rules::Decision> read = DecidePath(Request(), "/srv/a/x.txt");
  EXPECT_EQ(read->verdict, rules::Verdict::kAllow);
  EXPECT_EQ(read->rule, "mounts.read /srv/a");
  EXPECT_EQ(read->reason, "read-only, as /workspace/mount/read/abs/srv/a/x.txt");
  EXPECT_EQ(DecidePath(Request(), "/srv/a/out")->reason,
            "read and write, as /workspace/mount/write/abs/srv/a/out");
}

TEST(PathCheckTest, SystemTreesAreReadOnly) {
  EXPECT_EQ(DecidePath(Request(), "/usr/bin/env")->rule, "system tree /usr");
}

TEST(PathCheckTest, WhatNothingShowsIsDenied) {
  for (const char* path : {"/etc/shadow", "/srv", "/srv/ab", "/root/.ssh", "/"}) {
    EXPECT_EQ(DecidePath(Request(), path)->verdict, rules::Verdict::kDeny) << path;
  }
}

TEST(PathCheckTest, PathMustBeAbsoluteAndNormalised) {
  for (const char* path : {"", "srv/a", "/srv/a/../b", "/srv//a"}) {
    EXPECT_EQ(DecidePath(Request(), path).status().code(), Code::kInvalidArgument) << path;
  }
}

}  // namespace
}  // namespace odyssey::ctl
