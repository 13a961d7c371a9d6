#ifndef ODYSSEY_TESTS_INTEGRATION_LATER_ENDPOINTS_FIXTURE_H_
#define ODYSSEY_TESTS_INTEGRATION_LATER_ENDPOINTS_FIXTURE_H_

// A cell with a writable tree of the host, in which something appears while it lives.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/integration/cell_probe.h"

namespace odyssey::testing {

// Python: waits until what is at `path` can no longer be reached, for ten seconds. A cover has no
// permissions at all.
inline constexpr char kAwaitCover[] = R"(
import time
def await_cover(path):
    for _ in range(1000):
        try:
            if os.stat(path).st_mode & 0o777 == 0: return
        except FileNotFoundError: pass
        time.sleep(0.01)
)";

class LaterEndpoints : public ::testing::Test {
 protected:
  static constexpr uid_t kOwner = 5000;

  void SetUp() override {
    tree_ = supervisor_.directory() + "/host/tree";
    Make("");
  }

  void Make(const std::string& name) {
    namespace fs = std::filesystem;
    fs::create_directories(tree_ + name);
    for (fs::path at = tree_ + name; at != fs::path(tree_).parent_path(); at = at.parent_path()) {
      ASSERT_EQ(lchown(at.c_str(), kOwner, kOwner), 0) << at;
    }
  }

  v1::PrepareCellRequest Request() const {
    auto request = SupervisorHarness::Request("later");
    policy::v1::Mount* mount = request.mutable_sandbox()->add_mounts();
    mount->set_source(tree_);
    mount->set_target("/data");
    mount->set_access(policy::v1::ACCESS_READ_WRITE);
    return request;
  }
  std::string Cell() { return supervisor_.Cell(Request()); }

  SupervisorHarness supervisor_;
  std::string tree_;
};

}  // namespace odyssey::testing

#endif  // ODYSSEY_TESTS_INTEGRATION_LATER_ENDPOINTS_FIXTURE_H_
