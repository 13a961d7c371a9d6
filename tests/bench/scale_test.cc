// 10,000 turns over 1,000 sessions, queued at once: all end, each session's in its order, while
// lists answer and agentd's memory stays bounded; and idle cells are given back. Prints what it
// took.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <thread>

#include "odyssey/agent/v1/approval.grpc.pb.h"
#include "odyssey/agent/v1/bundle.grpc.pb.h"
#include "odyssey/agent/v1/session.grpc.pb.h"
#include "tests/bench/agentd.h"
#include "tests/bench/process_memory.h"
#include "tests/bench/supervisor.h"

namespace odyssey::bench {
namespace {

namespace v1 = ::odyssey::agent::v1;
using Clock = std::chrono::steady_clock;

constexpr size_t kSessions = 1000;
constexpr size_t kTurnsEach = 10;
constexpr size_t kWorking = 100;  // sessions whose turns run a command
constexpr size_t kThreads = 8;
constexpr double kMebibyte = 1024 * 1024;
constexpr double kMaxGrowth = 200 * kMebibyte;
constexpr std::chrono::seconds kSlowestList{10};  // on a machine that is busy with the turns
constexpr std::chrono::seconds kGivenBackIn{90};

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Calls `work` with each number below `count`, from several threads.
void InParallel(size_t count, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next = 0;
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (size_t n = next++; n < count; n = next++) work(n);
    });
  }
}

class ScaleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) {
      ASSERT_EQ(getenv("ODYSSEY_MUST_RUN"), nullptr);  // NOLINT(concurrency-mt-unsafe)
      GTEST_SKIP() << "needs root";
    }
    supervisor_ = Supervisor::Start().value();
    agentd_ = Agentd::Start(*supervisor_, {"--queue-total", "20000", "--idle-cell", "5"}).value();
    channel_ = grpc::CreateChannel("unix:" + agentd_->socket(), grpc::InsecureChannelCredentials());
    sessions_ = v1::SessionService::NewStub(channel_);
  }

  // Its reference.
  std::string Install(const std::string& directory) {
    v1::BuildBundleRequest request;
    request.set_directory(directory);
    v1::BuildBundleResponse response;
    grpc::ClientContext context;
    const auto bundles = v1::BundleService::NewStub(channel_);
    const grpc::Status status = bundles->BuildBundle(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return "local/" + response.bundle().id();
  }
  std::string Create(const std::string& bundle) {
    v1::CreateSessionRequest request;
    request.set_bundle(bundle);
    v1::CreateSessionResponse response;
    grpc::ClientContext context;
    const grpc::Status status = sessions_->CreateSession(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.session().id();
  }
  std::string Submit(const std::string& session) {
    v1::SubmitTurnRequest request;
    request.set_session_id(session);
    request.set_prompt("go");
    v1::SubmitTurnResponse response;
    grpc::ClientContext context;
    const grpc::Status status = sessions_->SubmitTurn(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.turn_id();
  }
  // The turns as they began and as they ended, from the session's journal, when all have.
  void AwaitTurns(const std::string& session, std::vector<std::string>* began,
                  std::vector<std::string>* completed) {
    v1::SubscribeRequest request;
    request.set_session_id(session);
    request.set_follow(true);
    grpc::ClientContext context;
    const auto events = sessions_->Subscribe(&context, request);
    v1::Event event;
    while (completed->size() < kTurnsEach && events->Read(&event)) {
      if (event.has_turn_started()) began->push_back(event.turn_started().turn_id());
      if (event.has_turn_completed()) completed->push_back(event.turn_completed().turn_id());
      ASSERT_FALSE(event.has_turn_failed()) << event.turn_failed().message();
    }
    context.TryCancel();
    (void)events->Finish();
  }
  // How long the slower of two lists takes.
  double ListsTake() {
    const Clock::time_point start = Clock::now();
    v1::ListSessionsResponse listed;
    grpc::ClientContext context;
    EXPECT_TRUE(sessions_->ListSessions(&context, {}, &listed).ok());
    EXPECT_EQ(listed.sessions_size(), static_cast<int>(kSessions));
    const double sessions = SecondsSince(start);
    const Clock::time_point next = Clock::now();
    v1::ListApprovalsResponse approvals;
    grpc::ClientContext second;
    EXPECT_TRUE(
        v1::ApprovalService::NewStub(channel_)->ListApprovals(&second, {}, &approvals).ok());
    return std::max(sessions, SecondsSince(next));
  }
  int LiveCells() {
    supervisor::v1::GetInfoResponse info;
    grpc::ClientContext context;
    const auto stub = supervisor::v1::Supervisor::NewStub(
        grpc::CreateChannel("unix:" + supervisor_->socket(), grpc::InsecureChannelCredentials()));
    EXPECT_TRUE(stub->GetInfo(&context, {}, &info).ok());
    return static_cast<int>(info.live_cells());
  }

  std::unique_ptr<Supervisor> supervisor_;
  std::unique_ptr<Agentd> agentd_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::SessionService::Stub> sessions_;
};

TEST_F(ScaleTest, TenThousandTurnsOverAThousandSessions) {
  const std::string working = Install(agentd_->MakeBundle().value());
  const std::string talking = Install(agentd_->MakeTalkingBundle().value());
  const double before = PssOf(agentd_->pid());

  Clock::time_point start = Clock::now();
  std::vector<std::string> ids(kSessions);
  InParallel(kSessions, [&](size_t n) { ids[n] = Create(n < kWorking ? working : talking); });
  const double created = SecondsSince(start);

  start = Clock::now();
  std::vector<std::vector<std::string>> turns(kSessions);
  InParallel(kSessions, [&](size_t n) {
    for (size_t i = 0; i < kTurnsEach; ++i) turns[n].push_back(Submit(ids[n]));
  });
  const double submitted = SecondsSince(start);
  const double queued = PssOf(agentd_->pid());

  std::atomic<bool> over = false;
  double slowest = 0;
  {
    const std::jthread lists([&] {
      while (!over) {
        slowest = std::max(slowest, ListsTake());
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
      }
    });
    for (size_t n = 0; n < kSessions; ++n) {
      std::vector<std::string> began, completed;
      AwaitTurns(ids[n], &began, &completed);
      EXPECT_EQ(began, turns[n]) << "session " << n;
      EXPECT_EQ(completed, turns[n]) << "session " << n;
      if (HasFailure()) break;
    }
    over = true;
  }
  const double ended = SecondsSince(start);
  const double after = PssOf(agentd_->pid());
  const int cells = LiveCells();

  start = Clock::now();
  while (LiveCells() > 0 && Clock::now() - start < kGivenBackIn) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  EXPECT_EQ(LiveCells(), 0);
  std::printf(
      "%zu sessions made in %.1f s; %zu turns, %zu of them with a command: queued in %.1f s, ended "
      "in %.1f s from the first\nslowest list: %.2f s; agentd PSS: %.0f MiB before, %.0f MiB "
      "queued, "
      "%.0f MiB after; %d cells given back in %.1f s\n",
      kSessions, created, kSessions * kTurnsEach, kWorking * kTurnsEach, submitted, ended, slowest,
      before / kMebibyte, queued / kMebibyte, after / kMebibyte, cells, SecondsSince(start));
  EXPECT_LT(after - before, kMaxGrowth);
  EXPECT_LT(slowest, std::chrono::duration<double>(kSlowestList).count());
}

}  // namespace
}  // namespace odyssey::bench
