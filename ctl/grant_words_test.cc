#include "ctl/grant_words.h"

#include <gtest/gtest.h>

namespace odyssey::ctl {
namespace {

using dialect::Dialect;

TEST(GrantWordsTest, EachDialectHasItsOwnKeys) {
  const std::string read = "sandbox.permissions.filesystem.mounts.read: [\"/srv/a\"]";
  const std::string write = "sandbox.permissions.filesystem.mounts.write: [\"/srv/a\"]";
  EXPECT_EQ(GrantIn(Dialect::kManifest, write), write);
  EXPECT_EQ(GrantIn(Dialect::kOpenShell, read), "filesystem_policy.read_only: [/srv/a]");
  EXPECT_EQ(GrantIn(Dialect::kOpenShell, write), "filesystem_policy.read_write: [/srv/a]");
  EXPECT_EQ(GrantIn(Dialect::kLlmDo, write), "sandbox.paths.NAME: {root: /srv/a, mode: rw}");
  EXPECT_EQ(GrantIn(Dialect::kOdek, read), "sandbox_volumes: [/srv/a:TARGET:ro]");
  EXPECT_EQ(GrantIn(Dialect::kOdek, "sandbox.mode: \"workspace_write\""),
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
