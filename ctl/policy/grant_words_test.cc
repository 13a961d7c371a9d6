#include "ctl/policy/grant_words.h"

#include <gtest/gtest.h>

namespace odyssey::ctl {
namespace {

using dialect::Dialect;
using explain::Grant;

TEST(GrantWordsTest, EachDialectHasItsOwnKeys) {
  const Grant read{Grant::Key::kMountRead, "/srv/a", "read: [\"/srv/a\"]"};
  const Grant write{Grant::Key::kMountWrite, "/srv/a", "write: [\"/srv/a\"]"};
  EXPECT_EQ(GrantIn(Dialect::kManifest, write), write.text);
  EXPECT_EQ(GrantIn(Dialect::kOpenShell, read), "filesystem_policy.read_only: [/srv/a]");
  EXPECT_EQ(GrantIn(Dialect::kOpenShell, write), "filesystem_policy.read_write: [/srv/a]");
  EXPECT_EQ(GrantIn(Dialect::kLlmDo, write), "sandbox.paths.NAME: {root: /srv/a, mode: rw}");
  EXPECT_EQ(GrantIn(Dialect::kOdek, read), "sandbox_volumes: [/srv/a:TARGET:ro]");
  EXPECT_EQ(GrantIn(Dialect::kOdek, {Grant::Key::kWorkspaceWrite, "", "mode"}),
            "sandbox_readonly: false");
}

TEST(GrantWordsTest, WhatADialectHasNoKeyForIsNoGrantInIt) {
  const std::string protection = "sandbox.protection: \"none\"";
  EXPECT_EQ(GrantIn(Dialect::kOdyssey, protection), protection);
  for (const Dialect dialect : {Dialect::kOpenShell, Dialect::kLlmDo, Dialect::kOdek}) {
    EXPECT_EQ(GrantIn(dialect, protection), "");
    EXPECT_EQ(GrantIn(dialect, ""), "");
  }
}

}  // namespace
}  // namespace odyssey::ctl
