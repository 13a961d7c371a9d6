#include "ctl/daemon/namespace_obstacle.h"

#include <errno.h>
#include <gtest/gtest.h>

namespace odyssey::ctl {
namespace {

std::optional<NamespaceObstacle> With(const std::string& name, const std::string& value,
                                      int error = EPERM) {
  return ObstacleOf({.sysctl = [&](const std::string& asked) { return asked == name ? value : ""; },
                     .error = error});
}

TEST(NamespaceObstacleTest, NamesTheSettingAndTheCommandThatMendsIt) {
  EXPECT_EQ(With("user.max_user_namespaces", "0")->mend,
            "sysctl -w user.max_user_namespaces=65536");
  EXPECT_EQ(With("kernel.unprivileged_userns_clone", "0")->mend,
            "sysctl -w kernel.unprivileged_userns_clone=1");
  EXPECT_EQ(With("kernel.apparmor_restrict_unprivileged_userns", "1")->mend,
            "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0");
  EXPECT_EQ(With("kernel.apparmor_restrict_unprivileged_userns", "1")->detail,
            "kernel.apparmor_restrict_unprivileged_userns is 1");
}

TEST(NamespaceObstacleTest, WhatWorksHasNone) {
  EXPECT_EQ(With("kernel.apparmor_restrict_unprivileged_userns", "1", 0), std::nullopt);
}

TEST(NamespaceObstacleTest, OfNoSettingSaysWhatFailed) {
  EXPECT_NE(With("kernel.unprivileged_userns_clone", "1")->detail.find("not permitted"),
            std::string::npos);
}

}  // namespace
}  // namespace odyssey::ctl
