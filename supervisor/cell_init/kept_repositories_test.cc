#include "supervisor/cell_init/kept_repositories.h"

#include <gtest/gtest.h>

namespace odyssey::cell_init {
namespace {

using Names = std::vector<std::string>;

void Add(const std::string& path, std::vector<GuardPlace>* guards) {
  AddGuard(path, UniqueFd(), guards);
}

TEST(KeptRepositoriesTest, AGuardDoesTheWorkOfThoseInIt) {
  std::vector<GuardPlace> guards;
  Add("/w/a/.git", &guards);
  Add("/w/ab/.git", &guards);
  Add("/w/a", &guards);
  Add("/w/a/b/.git", &guards);
  Add("/w/a/.git", &guards);
  ASSERT_EQ(guards.size(), 2u);
  EXPECT_EQ(guards[0].guard.path, "/w/ab/.git");
  EXPECT_EQ(guards[0].guard.git, Names{""});
  EXPECT_EQ(guards[1].guard.path, "/w/a");
  EXPECT_EQ(guards[1].guard.git, (Names{"", ".git", "b/.git"}));
}

TEST(KeptRepositoriesTest, TheGuardOfDeniedNamesToo) {
  std::vector<GuardPlace> guards;
  guards.push_back({{.path = "/w", .deny = {"**/.env"}, .git = {".git"}}, UniqueFd()});
  Add("/w/lib/.git", &guards);
  Add("/w/.git", &guards);
  Add("/w", &guards);
  ASSERT_EQ(guards.size(), 1u);
  EXPECT_EQ(guards[0].guard.git, (Names{".git", "lib/.git", ""}));
}

}  // namespace
}  // namespace odyssey::cell_init
