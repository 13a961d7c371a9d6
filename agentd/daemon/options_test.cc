#include "agentd/daemon/options.h"

#include <gtest/gtest.h>

#include "agentd/daemon/settings.h"

namespace odyssey::daemon {
namespace {

std::vector<std::string> With(std::vector<std::string> more) {
  more.insert(more.begin(),
              {"--state", "/s", "--socket", "/a.sock", "--supervisor-socket=/b.sock"});
  return more;
}

TEST(OptionsTest, ReadsEveryOption) {
  Result<Options> options = ParseOptions(With({"--allow-uid",
                                               "7",
                                               "--allow-uid=8",
                                               "--workers",
                                               "2",
                                               "--queue",
                                               "3",
                                               "--model-key-file",
                                               "/k",
                                               "--model-base-url",
                                               "https://h/v1",
                                               "--model-key-file",
                                               "gemini=/g",
                                               "--model-base-url=anthropic=https://a/?x=1",
                                               "--policy",
                                               "/p.d",
                                               "--approval-timeout",
                                               "60",
                                               "--queue-total",
                                               "4",
                                               "--idle-cell",
                                               "0",
                                               "--admin-group",
                                               "ops",
                                               "--drain=60",
                                               "--metrics-listen",
                                               "127.0.0.1:9464",
                                               "--journal-max-bytes=65536",
                                               "--journal-keep",
                                               "86400"}));
  ASSERT_TRUE(options.ok()) << options.status().ToString();
  EXPECT_EQ(options->state, "/s");
  EXPECT_EQ(options->supervisor_socket, "/b.sock");
  EXPECT_EQ(options->allowed_uids, (std::set<uid_t>{7, 8}));
  EXPECT_EQ(options->workers, 2u);
  EXPECT_EQ(options->queue, 3u);
  EXPECT_EQ(options->queue_total, 4u);
  EXPECT_EQ(options->idle_cell, std::chrono::seconds(0));
  EXPECT_EQ(options->admin_group, "ops");
  EXPECT_EQ(options->drain, std::chrono::seconds(60));
  EXPECT_EQ(options->metrics_listen, "127.0.0.1:9464");
  EXPECT_EQ(options->journal_max_bytes, 65536u);
  EXPECT_EQ(options->journal_keep, std::chrono::hours(24));
  EXPECT_EQ(options->model_key_files,
            (std::map<std::string, std::string>{{"openai", "/k"}, {"google", "/g"}}));
  EXPECT_EQ(options->model_base_urls,
            (std::map<std::string, std::string>{{"openai", "https://h/v1"},
                                                {"anthropic", "https://a/?x=1"}}));
  EXPECT_EQ(options->policy_directory, "/p.d");
  EXPECT_EQ(options->approval_timeout, std::chrono::seconds(60));
}

TEST(OptionsTest, JournalsHaveABoundUnlessItIsTaken) {
  EXPECT_EQ(ParseOptions(With({}))->journal_max_bytes, uint64_t{64} << 20);
  EXPECT_EQ(ParseOptions(With({}))->journal_keep, std::chrono::seconds(0));
  EXPECT_EQ(ParseOptions(With({"--journal-max-bytes", "0"}))->journal_max_bytes, 0u);
  EXPECT_EQ(ParseOptions(With({"--journal-max-bytes", "65535"})).status().message(),
            "--journal-max-bytes \"65535\": must be 0, or at least 65536");
}

TEST(OptionsTest, ReadsTheApprovalCommand) {
  const auto options =
      ParseOptions(With({"--approval-command", "/c", "--approval-command-fallback=ask"}));
  ASSERT_TRUE(options.ok()) << options.status().ToString();
  EXPECT_EQ(options->approval_command, "/c");
  EXPECT_EQ(options->approval_command_fallback, "ask");
  EXPECT_EQ(ParseOptions(With({"--approval-command", "/c"}))->approval_command_fallback, "");
}

TEST(OptionsTest, NamesTheOptionTheValueAndWhatIsAllowed) {
  for (const auto& [more, message] : std::vector<std::pair<std::vector<std::string>, const char*>>{
           {{"--workers", "0"}, "--workers \"0\": must be a number from 1 to 256"},
           {{"--workers", "2x"}, "--workers \"2x\": must be a number from 1 to 256"},
           {{"--allow-uid", "-1"}, "--allow-uid \"-1\": must be a number from 0 to 4294967294"},
           {{"--socket", "rel"}, "--socket \"rel\": must be an absolute path"},
           {{"--approval-webhook-fallback", "deny"},
            "--approval-webhook-fallback: needs --approval-webhook"},
           {{"--approval-webhook-token-file", "/t", "--approval-command", "/c"},
            "--approval-webhook-token-file: needs --approval-webhook"},
           {{"--approval-webhook-ca", "/ca"}, "--approval-webhook-ca: needs --approval-webhook"},
           {{"--approval-webhook-ca", "ca"},
            "--approval-webhook-ca \"ca\": must be an absolute path"},
           {{"--approval-webhook", "https://h/", "--approval-command", "/c"},
            "--approval-webhook: excludes --approval-command; give one"},
           {{"--approval-command-fallback", "deny"},
            "--approval-command-fallback: needs --approval-command"},
           {{"--approval-command-fallback", "allow"},
            "--approval-command-fallback \"allow\": must be ask or deny"},
           {{"--queue"}, "--queue: needs a value"},
           {{"--admin-group", ""}, "--admin-group: needs a group's name or gid"},
           {{"--drain", "86401"}, "--drain \"86401\": must be a number from 0 to 86400"},
           {{"--model-key-file", "bogus=/k"},
            "--model-key-file bogus=/k: no provider of that name has a key"},
           {{"--nope", "1"}, "unknown option --nope; --help lists them"}}) {
    EXPECT_EQ(ParseOptions(With(more)).status(), InvalidArgument(message));
  }
  EXPECT_EQ(ParseOptions({"--state", "/s"}).status(), InvalidArgument("--socket: is required"));
}

TEST(OptionsTest, AReloadNamesWhatItDoesNotApply) {
  const Options old = *ParseOptions(With({"--workers", "2", "--queue", "3", "--allow-uid", "7"}));
  const Options anew = *ParseOptions(
      With({"--workers", "2", "--drain", "5", "--allow-uid", "8", "--model-key-file", "/k"}));
  EXPECT_EQ(NeedRestart(old, anew), "--queue, --drain");
  EXPECT_EQ(NeedRestart(old, old), "");
  EXPECT_EQ(NeedRestart(old, *ParseOptions(With({"--workers", "3", "--queue", "3"}))), "--workers");
}

TEST(OptionsTest, HelpNeedsNothingElse) {
  EXPECT_TRUE(ParseOptions({"--help"})->help);
  EXPECT_TRUE(ParseOptions({"--version"})->version);
}

}  // namespace
}  // namespace odyssey::daemon
