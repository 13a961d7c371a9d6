#include "supervisor/root/options.h"

#include <gtest/gtest.h>

namespace odyssey::root {
namespace {

Result<Options> Parse(std::vector<std::string> words) {
  std::vector<char*> argv = {const_cast<char*>("odyssey-supervisor")};
  for (std::string& word : words) argv.push_back(word.data());
  return ParseOptions(static_cast<int>(argv.size()), argv.data());
}

Result<Options> ParseWith(const std::string& option, const std::string& value) {
  return Parse({"--state", "/s", "--run", "/r", option, value});
}

TEST(OptionsTest, TakesDirectoriesAndFillsInUsers) {
  const auto options = Parse({"--state", "/var/lib/o", "--run", "/run/o"});
  ASSERT_TRUE(options.ok()) << options.status().ToString();
  EXPECT_EQ(options->state_directory, "/var/lib/o");
  EXPECT_EQ(options->run_directory, "/run/o");
  EXPECT_EQ(options->rpc_uid, 0x6fff0001u);
  EXPECT_EQ(options->uid_base, 0x70000000u);
  EXPECT_TRUE(options->client_uids.empty());
  EXPECT_FALSE(options->program_directory.empty());
}

TEST(OptionsTest, TakesUsersByNumber) {
  EXPECT_EQ(ParseWith("--rpc-user", "1234")->rpc_uid, 1234u);
  const auto clients =
      Parse({"--state", "/s", "--run", "/r", "--client-uid", "5", "--client-uid", "65534"});
  EXPECT_EQ(clients->client_uids, (std::vector<uid_t>{5, 65534}));
}

TEST(OptionsTest, PassesOnWhatRpcReads) {
  const auto options = Parse({"--state", "/s", "--run", "/r", "--", "--notify", "/n", "--state"});
  EXPECT_EQ(options->rpc_arguments, (std::vector<std::string>{"--notify", "/n", "--state"}));
  EXPECT_EQ(options->listener, -1);
  EXPECT_EQ(ParseWith("--listen-fd", "3")->listener, 3);
}

TEST(OptionsTest, RootlessIsTheUidOfEverything) {
  const auto options = ParseWith("--rootless", "1000");
  EXPECT_EQ(options->rootless_uid, 1000u);
  EXPECT_EQ(options->rpc_uid, 1000u);
  EXPECT_EQ(options->uid_base, 1000u);
  EXPECT_EQ(options->first_uid, 1000u);
  EXPECT_EQ(Parse({"--state", "/s", "--run", "/r"})->rootless_uid, 0u);
}

TEST(OptionsTest, SaysWhichOptionIsWrongAndWhatIsAllowed) {
  const struct {
    std::vector<std::string> words;
    std::string message;
  } cases[] = {
      {{}, "--state is required"},
      {{"--state", "/s"}, "--run is required"},
      {{"--state"}, "--state: needs a value"},
      {{"--sate", "/s"}, "unknown option --sate; allowed: --state"},
      {{"--state", "s"}, "--state s: give an absolute path"},
      {{"--state", "/s/../x"}, "--state /s/../x: give an absolute path"},
      {{"--state", ""}, "--state : give an absolute path"},
      {{"--run", "/s/"}, "--run /s/: give an absolute path"},
      {{"--bundle-store", "x"}, "--bundle-store x: give an absolute path"},
      {{"--rpc-user", "0"}, "--rpc-user 0: root is not allowed"},
      {{"--rootless", "0"}, "--rootless 0: root is not allowed"},
      {{"--rpc-user", "root"}, "--rpc-user root: not a number below"},
      {{"--listen-fd", "x"}, "--listen-fd x: not a number below"},
      {{"--client-uid", "-1"}, "--client-uid -1: "},
      {{"--client-uid", "4294967295"}, "--client-uid 4294967295: "},
      {{"--client-uid", "12x"}, "--client-uid 12x: "},
      {{"--client-uid", ""}, "--client-uid : "},
      {{"--uid-base", "1000"}, "--uid-base 1000: give at least 65536"},
      {{"--uid-base", "base"}, "--uid-base base: not a number below"},
  };
  for (const auto& bad : cases) {
    const auto options = Parse(bad.words);
    ASSERT_FALSE(options.ok()) << bad.message;
    EXPECT_EQ(options.status().code(), Code::kInvalidArgument);
    EXPECT_EQ(options.status().message().rfind(bad.message, 0), 0u)
        << options.status().message() << "\ndoes not begin with\n"
        << bad.message;
  }
}

}  // namespace
}  // namespace odyssey::root
