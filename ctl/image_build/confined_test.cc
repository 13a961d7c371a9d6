#include "ctl/image_build/confined.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "common/os/unique_fd.h"

namespace odyssey::ctl {
namespace {

TEST(ConfinedTest, ReturnsWhatTheWorkReturns) {
  const Result<std::string> good =
      RunConfined([]() -> Result<std::string> { return std::string(3'000'000, 'x'); }, -1);
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(good->size(), 3'000'000u);
  const Result<std::string> bad =
      RunConfined([]() -> Result<std::string> { return NotFound("it\nis not"); }, -1);
  EXPECT_EQ(bad.status(), NotFound("it\nis not"));
}

// Each of them succeeds without the filter.
TEST(ConfinedTest, AllowsNoOtherCall) {
  const Result<std::string> tried = RunConfined(
      []() -> Result<std::string> {
        std::string out;
        if (open("/dev/null", O_RDONLY) >= 0) out += "open ";
        if (socket(AF_INET, SOCK_STREAM, 0) >= 0) out += "socket ";
        if (kill(getppid(), 0) == 0) out += "kill ";
        if (dup(0) >= 0) out += "dup ";
        if (access("/", R_OK) == 0) out += "access ";
        return out;
      },
      -1);
  ASSERT_TRUE(tried.ok()) << tried.status().ToString();
  EXPECT_EQ(*tried, "");
}

TEST(ConfinedTest, ReportsAChildThatDies) {
  const Result<std::string> dead = RunConfined([]() -> Result<std::string> { _exit(0); }, -1);
  EXPECT_EQ(dead.status().code(), Code::kInternal);
}

TEST(ConfinedTest, ASignalEndsTheWait) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const UniqueFd input(ends[0]), output(ends[1]);
  ASSERT_EQ(write(output.get(), "x", 1), 1);
  const Result<std::string> never = RunConfined(
      []() -> Result<std::string> {
        for (;;) {
        }
      },
      input.get());
  EXPECT_EQ(never.status().code(), Code::kCancelled);
}

}  // namespace
}  // namespace odyssey::ctl
