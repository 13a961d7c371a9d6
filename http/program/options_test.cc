#include "http/program/options.h"

#include <gtest/gtest.h>

namespace odyssey::program {
namespace {

Result<Options> Parse(std::vector<std::string> more) {
  more.insert(more.begin(), {"--agentd-socket", "/s"});
  return ParseOptions(more);
}

TEST(OptionsTest, AreReadAndCheckedByName) {
  const Result<Options> options =
      Parse({"--listen", "[::1]:0", "--host-name=Box.Example", "--address-file", "/a"});
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->listen.ip, "::1");
  EXPECT_EQ(options->host_names, std::vector<std::string>{"box.example"});
  EXPECT_EQ(Parse({})->listen.port, 8472);
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--listen", "1"},
                                             {"--listen", "localhost:1"},
                                             {"--listen", "127.0.0.1:65536"},
                                             {"--listen-fd", "2"},
                                             {"--host-name", "a:1"},
                                             {"--non-loopback", "yes"},
                                             {"--address-file", "a"},
                                             {"--address-file"}}) {
    const Status status = Parse(words).status();
    EXPECT_EQ(status.message().rfind(words[0], 0), 0u) << status.message();
  }
}

TEST(OptionsTest, OtherHostsReachItOnlyIfAskedFor) {
  for (const char* address : {"0.0.0.0:1", "[::]:1", "192.0.2.1:1"}) {
    EXPECT_EQ(Parse({"--listen", address}).status().code(), Code::kInvalidArgument) << address;
    EXPECT_TRUE(Parse({"--listen", address, "--non-loopback", "allow"}).ok()) << address;
  }
}

}  // namespace
}  // namespace odyssey::program
