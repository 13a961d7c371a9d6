#include "supervisor/rpc/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "common/os/message_socket.h"
#include "common/os/unix_listener.h"
#include "supervisor/rpc/egress_health.h"
#include "tests/fakes/accept_one.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey::supervisor {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Text(Metrics& metrics) { return metrics.Text({}); }

Outcome Ended(v1::OutcomeKind kind, uint64_t duration_usec = 0) {
  Outcome out;
  out.sent.set_kind(kind);
  out.sent.set_duration_usec(duration_usec);
  return out;
}

TEST(MetricsTest, CountsCommandsByTheirOutcomes) {
  Metrics metrics;
  Outcome exited = Ended(v1::OUTCOME_KIND_EXITED, 2'000'000);
  exited.launch_usec = 1500;
  metrics.OnExecEnded(exited);
  metrics.OnExecEnded(exited);
  metrics.OnExecEnded(Ended(v1::OUTCOME_KIND_TIMED_OUT));  // it never had a slot
  const std::string text = Text(metrics);
  EXPECT_THAT(text, HasSubstr("odyssey_supervisor_execs_total{outcome=\"exited\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("odyssey_supervisor_execs_total{outcome=\"timed_out\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("odyssey_supervisor_execs_total{outcome=\"denied\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("odyssey_supervisor_exec_seconds_count 2\n"));
  EXPECT_THAT(text, HasSubstr("odyssey_supervisor_exec_seconds_sum 4\n"));
  EXPECT_THAT(text, HasSubstr("odyssey_supervisor_exec_launch_seconds_bucket{le=\"0.001\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("odyssey_supervisor_exec_launch_seconds_bucket{le=\"0.0025\"} 2\n"));
}

TEST(MetricsTest, CountsCells) {
  Metrics metrics;
  metrics.OnPrepared(policy::Mode::kReadOnly, /*created=*/true);
  metrics.OnPrepared(policy::Mode::kReadOnly, /*created=*/false);
  metrics.OnMade(std::chrono::milliseconds(30));
  metrics.OnCellEnded(CellEnd::kMemory);
  const std::string text = Text(metrics);
  EXPECT_THAT(text, HasSubstr("odyssey_supervisor_cells_made_total{mode=\"read_only\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("odyssey_supervisor_cells_made_total{mode=\"workspace_write\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("odyssey_supervisor_cells_reused_total 1\n"));
  EXPECT_THAT(text, HasSubstr("odyssey_supervisor_cell_preparation_seconds_count 1\n"));
  EXPECT_THAT(text, HasSubstr("odyssey_supervisor_cell_ends_total{reason=\"memory\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("odyssey_supervisor_cell_ends_total{reason=\"stopped\"} 0\n"));
}

TEST(MetricsTest, CountsWhatIsRefused) {
  Metrics metrics;
  metrics.OnRefused("prepare", PermissionDenied("no"));
  explain::Denial denial;
  denial.kind = "path";
  denial.resource = "/etc/shadow";
  metrics.OnDenied(denial);
  const std::string text = Text(metrics);
  EXPECT_THAT(text, HasSubstr("odyssey_supervisor_refusals_total{code=\"PERMISSION_DENIED\","
                              "what=\"prepare\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("odyssey_supervisor_denials_total{kind=\"path\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("shadow")));
}

TEST(MetricsTest, CountsFilesAndTransfers) {
  Metrics metrics;
  metrics.OnFileOp(tool::Op::kWrite, true);
  metrics.OnFileOp(tool::Op::kRead, false);
  metrics.OnTransferred(Transfer::kIn, 100);
  metrics.OnTransferred(Transfer::kIn, 1);
  const std::string text = Text(metrics);
  EXPECT_THAT(text,
              HasSubstr("odyssey_supervisor_file_operations_total{op=\"write\",outcome=\"ok\"} 1"));
  EXPECT_THAT(
      text, HasSubstr("odyssey_supervisor_file_operations_total{op=\"read\",outcome=\"error\"} 1"));
  EXPECT_THAT(text, HasSubstr("odyssey_supervisor_transfer_bytes_total{direction=\"in\"} 101\n"));
}

TEST(MetricsTest, CountsDecisionsOfTheNetworkAndThoseWithoutARecord) {
  Metrics metrics;
  egress_wire::Record record{
      .verdict = egress_wire::Verdict::kAllowed, .way = "request", .host = "example.org"};
  record.inference = {.route = "r", .model = "m", .tokens_in = 3, .tokens_out = 4, .cost = 5};
  metrics.OnEgress(record);
  metrics.OnEgress(
      {.verdict = egress_wire::Verdict::kDenied, .way = "dns", .code = "policy_denied"});
  metrics.OnEgress({.verdict = egress_wire::Verdict::kDenied,
                    .way = "request",
                    .code = "credential_location_denied"});
  metrics.OnEgress({.verdict = egress_wire::Verdict::kAllowed, .suppressed = 10});
  const std::string text = Text(metrics);
  EXPECT_THAT(text, HasSubstr("{code=\"none\",verdict=\"allowed\",way=\"request\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("{code=\"none\",verdict=\"allowed\",way=\"unknown\"} 10\n"));
  EXPECT_THAT(text, HasSubstr("{code=\"policy_denied\",verdict=\"denied\",way=\"dns\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("{code=\"credential\",verdict=\"denied\",way=\"request\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("odyssey_egress_model_tokens_total{direction=\"input\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("odyssey_egress_model_tokens_total{direction=\"output\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("odyssey_egress_model_cost_microdollars_total 5\n"));
  EXPECT_THAT(text, Not(HasSubstr("example")));
}

// A worker that hostile bytes have taken over says what it likes.
TEST(MetricsTest, WordsOfAWorkerMakeNoSeries) {
  Metrics metrics;
  const auto say = [&metrics](int number) {
    const std::string word = "x" + std::to_string(number);
    metrics.OnEgress({.verdict = egress_wire::Verdict::kDenied, .way = word, .code = word});
  };
  say(0);
  const std::string before = Text(metrics);
  for (int i = 1; i < 50; ++i) say(i);
  const std::string after = Text(metrics);
  EXPECT_EQ(std::count(after.begin(), after.end(), '\n'),
            std::count(before.begin(), before.end(), '\n'));
  EXPECT_THAT(after, HasSubstr("{code=\"other\",verdict=\"denied\",way=\"other\"} 50\n"));
}

TEST(MetricsTest, AddsBytesByDirection) {
  Metrics metrics;
  metrics.OnTraffic({.up = 3, .down = 40});
  metrics.OnTraffic({.up = 4, .open = 1});
  EXPECT_THAT(Text(metrics), HasSubstr("odyssey_egress_bytes_total{direction=\"in\"} 40\n"));
  EXPECT_THAT(Text(metrics), HasSubstr("odyssey_egress_bytes_total{direction=\"out\"} 7\n"));
}

TEST(MetricsTest, SaysWhatIsTrueNow) {
  Metrics metrics;
  const std::string text = metrics.Text({.cells = 3,
                                         .max_cells = 9,
                                         .execs_running = 2,
                                         .audit_records = 7,
                                         .audit_writable = true,
                                         .egress_up = true,
                                         .connections_open = 5});
  EXPECT_THAT(text, HasSubstr("odyssey_supervisor_cells 3\n"));
  EXPECT_THAT(text, HasSubstr("odyssey_supervisor_cells_max 9\n"));
  EXPECT_THAT(text, HasSubstr("odyssey_supervisor_execs_running 2\n"));
  EXPECT_THAT(text, HasSubstr("odyssey_supervisor_audit_records_total 7\n"));
  EXPECT_THAT(text, HasSubstr("odyssey_supervisor_audit_writable 1\n"));
  EXPECT_THAT(text, HasSubstr("odyssey_egress_up 1\n"));
  EXPECT_THAT(text, HasSubstr("odyssey_egress_connections_open 5\n"));
  EXPECT_THAT(Text(metrics), HasSubstr("odyssey_egress_up 0\n"));
}

// ── Whether odyssey-egress answers ──────────────────────────────────────────────────────────────

// What accepts one connection, and answers the first message with `answer`.
Status AskOneThatSays(const std::string& answer) {
  const fakes::TemporaryDirectory directory;
  const std::string path = directory.path() + "/egress.sock";
  Result<UniqueFd> listener = ListenUnix(path, 0666, SOCK_SEQPACKET);
  EXPECT_TRUE(listener.ok()) << listener.status().message();
  std::thread server([fd = listener->get(), &answer] {
    const UniqueFd socket = fakes::AcceptOne(fd);
    if (ReceiveMessage(socket.get()).ok() && !answer.empty()) {
      EXPECT_TRUE(SendMessage(socket.get(), answer).ok());
    }
  });
  Status status = AskEgress(path);
  server.join();
  return status;
}

TEST(EgressHealthTest, OneThatAnswersIsUp) {
  const Status status = AskOneThatSays(egress_wire::Encode(egress_wire::Synced{1}));
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(DescribeEgress(status).in_force);
}

TEST(EgressHealthTest, OneThatClosesOrSaysSomethingElseIsNot) {
  for (const std::string& answer : {std::string(), std::string("?")}) {
    const Status status = AskOneThatSays(answer);
    EXPECT_EQ(status.code(), Code::kUnavailable);
    EXPECT_THAT(status.message(), HasSubstr("does not serve this supervisor"));
  }
}

TEST(EgressHealthTest, WithoutASocketItIsNot) {
  const Status status = AskEgress("/nonexistent/egress.sock");
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("/nonexistent/egress.sock"));
  EXPECT_FALSE(DescribeEgress(status).in_force);
}

}  // namespace
}  // namespace odyssey::supervisor
