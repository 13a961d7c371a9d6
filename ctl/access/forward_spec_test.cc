#include "ctl/access/forward_spec.h"

#include <gtest/gtest.h>

namespace odyssey::ctl {
namespace {

TEST(ForwardSpecTest, ReadsPortsAndAnAddress) {
  const auto read = [](const std::string& word) {
    const Result<ForwardSpec> spec = ReadForward(word);
    return spec.ok() ? *spec : ForwardSpec{};
  };
  EXPECT_EQ(read("8000"), (ForwardSpec{"", 8000, 8000}));
  EXPECT_EQ(read("8080:8000"), (ForwardSpec{"", 8080, 8000}));
  EXPECT_EQ(read("0:1"), (ForwardSpec{"", 0, 1}));
  EXPECT_EQ(read("192.0.2.1:65535:80"), (ForwardSpec{"192.0.2.1", 65535, 80}));
  EXPECT_EQ(read("[::1]:8080:8000"), (ForwardSpec{"::1", 8080, 8000}));
}

TEST(ForwardSpecTest, RefusesWhatIsNone) {
  for (const char* word : {"", "0", "65536", "x", "80x", "1:", ":1", "1:0", "host:1:2", "::1:1:2",
                           "[127.0.0.1]:1:2", "[]:1:2", "1:2:3", "-1:2", "127.0.0.1::2"}) {
    EXPECT_FALSE(ReadForward(word).ok()) << word;
  }
}

}  // namespace
}  // namespace odyssey::ctl
