// ODYSSEY_UPDATE_GOLDEN=1 rewrites the page, and fails where it changed.

#include "policy/model/keys_page.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace odyssey::policy {
namespace {

std::string Committed() {
  std::ifstream file(ODYSSEY_KEYS_PAGE);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(KeysPageTest, TheCommittedPageIsThatOfTheTable) {
  EXPECT_EQ(Committed(), KeysPage()) << ODYSSEY_KEYS_PAGE;
  if (std::getenv("ODYSSEY_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(ODYSSEY_KEYS_PAGE) << KeysPage();
  }
}

}  // namespace
}  // namespace odyssey::policy
