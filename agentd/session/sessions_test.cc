#include "agentd/session/sessions.h"

#include <gtest/gtest.h>

#include <thread>

#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/fakes/bundle_source.h"
#include "tests/fakes/session_world.h"
#include "tests/testing/refusal.h"

namespace odyssey::session {
namespace {

using approval::Decision;
using fakes::BundleSource;
using fakes::CallOnce;
using fakes::Say;
using fakes::SessionWorld;
using Names = std::vector<std::string>;

constexpr char kWriteA[] = R"({"content":"x","path":"a"})";

// Blocks until the stop is requested, as a model that takes its time.
Status Hang(std::stop_token stop) {
  std::promise<void> stopped;
  const std::stop_callback on_stop(stop, [&stopped] { stopped.set_value(); });
  stopped.get_future().wait();
  return Cancelled("stopped");
}

// A model whose first turn takes until it is stopped.
fakes::FakeModelClient::Function HangFirst() {
  return [calls = std::make_shared<std::atomic<int>>(0)](
             const model::ModelRequest&, const model::ModelSink& sink, std::stop_token stop) {
    ODY_RETURN_IF_ERROR(Say(sink, "x"));
    return (*calls)++ == 0 ? Hang(std::move(stop)) : OkStatus();
  };
}

// A model that says which turn it is in and then waits for `release`.
class Gate {
 public:
  fakes::FakeModelClient::Function Function() {
    return
        [this](const model::ModelRequest& request, const model::ModelSink& sink, std::stop_token) {
          ODY_RETURN_IF_ERROR(Say(sink, fakes::PromptOf(request)));
          released_.wait();
          return OkStatus();
        };
  }
  void Release() { release_.set_value(); }

 private:
  std::promise<void> release_;
  std::shared_future<void> released_ = release_.get_future().share();
};

TEST(SessionsTest, TurnsOfOneSessionKeepTheirOrderAndNeverOverlap) {
  std::atomic<int> inside = 0;
  std::atomic<bool> overlapped = false;
  std::mutex mutex;
  std::vector<std::string> order;
  SessionWorld world(
      [&](const model::ModelRequest& request, const model::ModelSink& sink, std::stop_token) {
        overlapped = overlapped || ++inside != 1;
        {
          std::lock_guard lock(mutex);
          order.push_back(fakes::PromptOf(request));
        }
        const Status said = Say(sink, "ok");
        --inside;
        return said;
      });
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  std::string last;
  std::vector<std::string> wanted;
  for (int i = 0; i < 10; ++i) {
    wanted.push_back("p" + std::to_string(i));
    last = world.Submit(session, wanted.back());
  }
  world.AwaitEnd(session, last);
  EXPECT_FALSE(overlapped);
  EXPECT_EQ(order, wanted);
}

TEST(SessionsTest, SessionsOverlap) {
  Gate gate;
  SessionWorld world(gate.Function());
  const BundleSource bundle;
  const std::string a = world.Create(bundle.path()), b = world.Create(bundle.path());
  const std::string turn_a = world.Submit(a), turn_b = world.Submit(b);
  world.Await(a, event::Event::kAgentMessageDelta);
  world.Await(b, event::Event::kAgentMessageDelta);  // both are inside the model now
  EXPECT_EQ(world.sessions().running_turns(), 2u);
  gate.Release();
  EXPECT_EQ(world.AwaitEnd(a, turn_a).status, TurnStatus::kCompleted);
  EXPECT_EQ(world.AwaitEnd(b, turn_b).status, TurnStatus::kCompleted);
}

TEST(SessionsTest, TurnsThatWaitForPeopleDoNotStarveOthers) {
  SessionWorld world(
      [](const model::ModelRequest& request, const model::ModelSink& sink, std::stop_token) {
        if (fakes::PromptOf(request) == "talk") return Say(sink, "hi");
        return sink(model::ToolUse{"c", "Write", kWriteA});
      },
      {.workers = 4, .queue_bound = 8});
  const BundleSource bundle("{ask: [Write]}");
  for (int i = 0; i < 4; ++i) {
    const std::string session = world.Create(bundle.path());
    world.Submit(session, "ask");
    world.Await(session, event::Event::kPermissionRequested);
  }
  const std::string fifth = world.Create(bundle.path());
  EXPECT_EQ(world.AwaitEnd(fifth, world.Submit(fifth, "talk")).status, TurnStatus::kCompleted);
}

TEST(SessionsTest, OperatorWaitsForTheTurnAndHoldsTheSession) {
  Gate gate;
  SessionWorld world(gate.Function());
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  const std::string first = world.Submit(session);
  world.Await(session, event::Event::kAgentMessageDelta);
  std::promise<Result<std::string>> held;
  std::future<Result<std::string>> cell = held.get_future();
  Result<std::shared_ptr<OperatorHold>> hold = world.sessions().Hold(
      session, [&](Result<std::string> cell_id) { held.set_value(std::move(cell_id)); });
  ASSERT_TRUE(hold.ok());
  const std::string second = world.Submit(session);
  EXPECT_EQ(cell.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  gate.Release();
  EXPECT_EQ(*cell.get(), "cel_" + session);
  EXPECT_EQ(world.sessions().GetTurn(session, first)->status, TurnStatus::kCompleted);
  EXPECT_EQ(world.sessions().GetTurn(session, second)->status, TurnStatus::kQueued);
  (*hold)->Release();
  EXPECT_EQ(world.AwaitEnd(session, second).status, TurnStatus::kCompleted);
}

TEST(SessionsTest, OperatorWhoGoesBeforeHisTurnIsTakenOutOfTheQueue) {
  Gate gate;
  SessionWorld world(gate.Function());
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  const std::string turn = world.Submit(session);
  world.Await(session, event::Event::kAgentMessageDelta);
  std::promise<Result<std::string>> held;
  Result<std::shared_ptr<OperatorHold>> hold = world.sessions().Hold(
      session, [&](Result<std::string> cell_id) { held.set_value(std::move(cell_id)); });
  ASSERT_TRUE(hold.ok());
  world.sessions().StopHold(session, *hold);
  EXPECT_EQ(held.get_future().get().status().code(), Code::kCancelled);
  gate.Release();
  EXPECT_EQ(world.AwaitEnd(session, turn).status, TurnStatus::kCompleted);
}

TEST(SessionsTest, CancelEndsARunningTurn) {
  SessionWorld world(
      [](const model::ModelRequest&, const model::ModelSink& sink, std::stop_token stop) {
        ODY_RETURN_IF_ERROR(Say(sink, "half"));
        return Hang(stop);
      });
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  const std::string turn = world.Submit(session);
  world.Await(session, event::Event::kAgentMessageDelta);
  EXPECT_TRUE(*world.sessions().Cancel(session, ""));
  const TurnRecord ended = world.AwaitEnd(session, turn);
  EXPECT_EQ(ended.status, TurnStatus::kCancelled);
  EXPECT_EQ(ended.history.back().content, "half");
  EXPECT_FALSE(*world.sessions().Cancel(session, turn)) << "it has ended already";
  EXPECT_FALSE(*world.sessions().Cancel(session, "")) << "none is running";
}

TEST(SessionsTest, CancelEndsACommandInTheCell) {
  SessionWorld world(CallOnce("Bash", R"({"command":"sleep 100"})"));
  world.sandbox().on_exec = [](const supervisor::v1::ExecStart&, const sandbox::ExecSink& sink,
                               std::stop_token stop) -> Result<supervisor::v1::ExecOutcome> {
    ODY_RETURN_IF_ERROR(fakes::Begin(sink));
    return Hang(stop);
  };
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  const std::string turn = world.Submit(session);
  world.Await(session, event::Event::kExecCommandBegin);
  EXPECT_TRUE(*world.sessions().Cancel(session, turn));
  EXPECT_EQ(world.EventNames(session),
            (Names{"turn_started", "tool_call_started", "exec_command_begin", "exec_command_end",
                   "tool_call_finished", "turn_cancelled"}));
}

TEST(SessionsTest, CancelEndsATurnThatWaitsForAPerson) {
  SessionWorld world(CallOnce("Write", kWriteA));
  const BundleSource bundle("{ask: [Write]}");
  const std::string session = world.Create(bundle.path());
  const std::string turn = world.Submit(session);
  world.Await(session, event::Event::kPermissionRequested);
  EXPECT_TRUE(*world.sessions().Cancel(session, turn));
  EXPECT_EQ(world.approvals().size(), 0u);
  EXPECT_EQ(world.AwaitEnd(session, turn).status, TurnStatus::kCancelled);
  EXPECT_EQ(world.sandbox().files(session).count("a"), 0u);
}

TEST(SessionsTest, CancelEndsAQueuedTurnAndLeavesTheRunningOne) {
  Gate gate;
  SessionWorld world(gate.Function());
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  const std::string running = world.Submit(session);
  world.Await(session, event::Event::kAgentMessageDelta);
  const std::string queued = world.Submit(session);
  EXPECT_TRUE(*world.sessions().Cancel(session, queued));
  EXPECT_EQ(world.AwaitEnd(session, queued).status, TurnStatus::kCancelled);
  gate.Release();
  EXPECT_EQ(world.AwaitEnd(session, running).status, TurnStatus::kCompleted);
}

Submitted SubmitOn(SessionWorld& world, const std::string& session, const TurnTerms& terms) {
  const Result<Submitted> submitted = world.sessions().Submit(session, "go", std::nullopt, terms);
  EXPECT_TRUE(submitted.ok()) << submitted.status().ToString();
  return submitted.ok() ? *submitted : Submitted{};
}

TEST(DeadlineTest, ATurnThatRunsEndsWithItsCommand) {
  SessionWorld world(CallOnce("Bash", R"({"command":"sleep 100"})"));
  std::atomic<bool> killed = false;
  world.sandbox().on_exec = [&](const supervisor::v1::ExecStart&, const sandbox::ExecSink& sink,
                                std::stop_token stop) -> Result<supervisor::v1::ExecOutcome> {
    ODY_RETURN_IF_ERROR(fakes::Begin(sink));
    const Status hung = Hang(stop);
    killed = true;
    return hung;
  };
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  const TurnRecord ended = world.AwaitEnd(session, SubmitOn(world, session, {150, ""}).turn_id);
  EXPECT_EQ(ended.status, TurnStatus::kFailed);
  EXPECT_EQ(ended.error, "deadline of 150 ms exceeded");
  EXPECT_TRUE(killed);
  EXPECT_EQ(world.EventNames(session).back(), "turn_failed");
}

TEST(DeadlineTest, ATurnThatIsQueuedOrAskedAboutEndsToo) {
  SessionWorld world(CallOnce("Write", kWriteA), {.workers = 1});
  const BundleSource bundle("{ask: [Write]}");
  const std::string session = world.Create(bundle.path());
  const std::string asked = SubmitOn(world, session, {400, ""}).turn_id;
  const std::string queued = SubmitOn(world, session, {100, ""}).turn_id;
  EXPECT_EQ(world.AwaitEnd(session, queued).error, "deadline of 100 ms exceeded");
  EXPECT_TRUE(IsOpen(world.sessions().GetTurn(session, asked)->status));
  EXPECT_EQ(world.AwaitEnd(session, asked).error, "deadline of 400 ms exceeded");
  EXPECT_EQ(world.approvals().size(), 0u);
}

TEST(DeadlineTest, TheFirstOfItsSessionEndsThoughNoWorkerIsFree) {
  Gate gate;
  SessionWorld world(gate.Function(), {.workers = 1});
  const BundleSource bundle;
  const std::string busy = world.Create(bundle.path());
  const std::string running = world.Submit(busy);
  world.Await(busy, event::Event::kAgentMessageDelta);
  const std::string other = world.Create(bundle.path());
  const std::string turn = SubmitOn(world, other, {50, ""}).turn_id;
  EXPECT_EQ(world.AwaitEnd(other, turn).error, "deadline of 50 ms exceeded");
  EXPECT_EQ(world.sessions().GetTurn(busy, running)->status, TurnStatus::kRunning);
  gate.Release();
}

TEST(DeadlineTest, OneThatPassesWhileAgentdIsStoppedHolds) {
  SessionWorld world(HangFirst(), {.workers = 1});
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  world.Submit(session);
  world.Await(session, event::Event::kAgentMessageDelta);
  const std::string queued = SubmitOn(world, session, {60'000, ""}).turn_id;
  world.Stop();
  world.clock().Advance(std::chrono::seconds(61));
  world.Start();
  EXPECT_EQ(world.AwaitEnd(session, queued).error, "deadline of 60000 ms exceeded");
  EXPECT_EQ(world.model().requests().size(), 1u) << "it never ran";
}

TEST(IdempotencyTest, AKeyMakesOneTurnAlsoAfterARestart) {
  SessionWorld world(CallOnce("Bash", R"({"command":"ls"})"));
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  world.AwaitEnd(session, world.Submit(session));
  const Submitted first = SubmitOn(world, session, {0, "k"});
  EXPECT_GT(first.after_sequence, 0u);
  world.AwaitEnd(session, first.turn_id);
  for (int i = 0; i < 2; ++i) {
    const Submitted again = SubmitOn(world, session, {0, "k"});
    EXPECT_EQ(again.turn_id, first.turn_id);
    EXPECT_EQ(again.after_sequence, first.after_sequence);
    world.Restart();
  }
  EXPECT_EQ((*world.sessions().Get(session))->turns.size(), 2u);
  EXPECT_NE(SubmitOn(world, session, {0, "other"}).turn_id, first.turn_id);
  EXPECT_EQ(world.sessions().Submit(session, "else", std::nullopt, {0, "k"}).status().code(),
            Code::kFailedPrecondition);
  EXPECT_EQ(world.sessions()
                .Submit(session, "go", std::nullopt, {0, std::string(257, 'k')})
                .status()
                .code(),
            Code::kInvalidArgument);
}

size_t LiveCells(SessionWorld& world) { return world.sandbox().ListCells()->size(); }

// Waits for what EndIdleCells has queued.
void EndIdleCells(SessionWorld& world, const std::string& session) {
  world.sessions().EndIdleCells(std::chrono::seconds(900));
  world.AwaitEmptyQueue(session);
}

TEST(IdleCellTest, EndsWithoutItsFilesAndTheNextTurnMakesItAgain) {
  SessionWorld world(CallOnce("Write", kWriteA));
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  world.RunTurn(session);
  world.clock().Advance(std::chrono::seconds(899));
  EndIdleCells(world, session);
  EXPECT_EQ(LiveCells(world), 1u) << "not yet";
  world.clock().Advance(std::chrono::seconds(1));
  world.sandbox().running_execs = 1;
  EndIdleCells(world, session);
  EXPECT_EQ(LiveCells(world), 1u) << "a command of another client is in it";
  world.sandbox().running_execs = 0;
  EndIdleCells(world, session);
  EXPECT_EQ(LiveCells(world), 0u);
  EXPECT_EQ(world.sandbox().files(session)["a"], "x");
  EXPECT_EQ(world.RunTurn(session).status, TurnStatus::kCompleted);
  EXPECT_EQ(LiveCells(world), 1u);
}

TEST(IdleCellTest, NeverWhileATurnWaitsOrAnOperatorHoldsIt) {
  SessionWorld world(CallOnce("Write", kWriteA));
  const BundleSource bundle("{ask: [Write]}");
  const std::string session = world.Create(bundle.path());
  const std::string turn = world.Submit(session);
  const std::string request =
      world.Await(session, event::Event::kPermissionRequested).permission_requested().request_id();
  const auto later = [&] {
    world.clock().Advance(std::chrono::hours(1));
    world.sessions().EndIdleCells(std::chrono::seconds(900));
  };
  later();
  EXPECT_EQ(LiveCells(world), 1u);
  EXPECT_TRUE(world.approvals().Resolve(request, {Decision::kDeny, "", 5}));
  world.AwaitEnd(session, turn);
  std::promise<Result<std::string>> held;
  const auto hold = world.sessions().Hold(
      session, [&](Result<std::string> cell) { held.set_value(std::move(cell)); });
  ASSERT_TRUE(held.get_future().get().ok());
  later();
  EXPECT_EQ(LiveCells(world), 1u);
  (*hold)->Release();
}

TEST(IdleCellTest, ACellOfBeforeARestartIsIdleFromTheFirstLookOn) {
  SessionWorld world(CallOnce("Write", kWriteA));
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  world.AwaitEnd(session, world.Submit(session));
  world.Restart();
  world.clock().Advance(std::chrono::hours(1));
  EndIdleCells(world, session);
  EXPECT_EQ(LiveCells(world), 1u);
  world.clock().Advance(std::chrono::hours(1));
  EndIdleCells(world, session);
  EXPECT_EQ(LiveCells(world), 0u);
}

TEST(SessionsTest, AQueuedTurnWaitsForASupervisorThatServesLaterThanAgentd) {
  SessionWorld world(HangFirst(), {.workers = 1});
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  world.Submit(session);
  world.Await(session, event::Event::kAgentMessageDelta);
  const std::string queued = world.Submit(session);
  world.Stop();
  world.sandbox().FailPrepare(Unavailable("not yet"));
  world.Start();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(world.sessions().GetTurn(session, queued)->status, TurnStatus::kRunning);
  world.sandbox().FailPrepare(OkStatus());
  EXPECT_EQ(world.AwaitEnd(session, queued).status, TurnStatus::kCompleted);
}

TEST(SessionsTest, FullQueueOfAllSessionsIsRefusedByName) {
  Gate gate;
  SessionWorld world(gate.Function(), {.workers = 1, .queue_total = 2});
  const BundleSource bundle;
  const std::string busy = world.Create(bundle.path());
  world.Submit(busy);
  world.Await(busy, event::Event::kAgentMessageDelta);
  world.Submit(busy);
  const std::string waits = world.Create(bundle.path());
  const std::string withdrawn = world.Submit(waits);
  const std::string third = world.Create(bundle.path());
  const Status full = world.sessions().Submit(third, "p").status();
  EXPECT_EQ(full.code(), Code::kResourceExhausted);
  EXPECT_NE(full.message().find("2 turns wait already; odyssey-agentd --queue-total allows 2"),
            std::string::npos)
      << full.message();
  EXPECT_TRUE((*world.sessions().Get(third))->turns.empty());
  EXPECT_TRUE(*world.sessions().Cancel(waits, withdrawn));
  const std::string accepted = world.Submit(third);
  gate.Release();
  EXPECT_EQ(world.AwaitEnd(third, accepted).status, TurnStatus::kCompleted);
}

TEST(SessionsTest, FullQueueRefusesTheTurnAndKeepsNoTrace) {
  Gate gate;
  SessionWorld world(gate.Function(), {.workers = 1, .queue_bound = 1});
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  const std::string running = world.Submit(session);
  world.Await(session, event::Event::kAgentMessageDelta);
  const std::string queued = world.Submit(session);
  EXPECT_EQ(world.sessions().Submit(session, "p").status().code(), Code::kResourceExhausted);
  EXPECT_EQ((*world.sessions().Get(session))->turns.size(), 2u);
  gate.Release();
  EXPECT_EQ(world.AwaitEnd(session, queued).status, TurnStatus::kCompleted);
}

TEST(SessionsTest, UnknownSessionsAndTurnsAreNotFoundAtOnce) {
  SessionWorld world(CallOnce("LS", "{}"));
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  const std::string unknown = "ses_00000000000000000000000000000000";
  EXPECT_EQ(world.sessions().Submit(unknown, "p").status().code(), Code::kNotFound);
  EXPECT_EQ(world.sessions().Submit("../../etc/passwd", "p").status().code(), Code::kNotFound);
  EXPECT_EQ(world.sessions().JournalOf(unknown).status().code(), Code::kNotFound);
  EXPECT_EQ(world.sessions().Delete(unknown).code(), Code::kNotFound);
  EXPECT_EQ(world.sessions().Cancel(session, "trn_x").status().code(), Code::kNotFound);
  EXPECT_EQ(world.sessions().Submit(session, " ").status().code(), Code::kInvalidArgument);
}

TEST(SessionsTest, LostSupervisorInterruptsTheTurnAndTheNextOneWorks) {
  SessionWorld world(CallOnce("Bash", R"({"command":"ls"})"));
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  world.sandbox().FailPrepare(Unavailable("gone"));
  const TurnRecord lost = world.AwaitEnd(session, world.Submit(session));
  EXPECT_EQ(lost.status, TurnStatus::kInterrupted);
  EXPECT_TRUE(world.Await(session, event::Event::kTurnFailed).turn_failed().interrupted());
  world.sandbox().FailPrepare(OkStatus());
  EXPECT_EQ(world.AwaitEnd(session, world.Submit(session)).status, TurnStatus::kCompleted);
}

TEST(SessionsTest, ATurnWaitsForASupervisorThatIsRestarted) {
  SessionWorld world(CallOnce("Bash", R"({"command":"ls"})"));
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  world.sandbox().FailPrepare(Unavailable("restarting"), 1);
  EXPECT_EQ(world.AwaitEnd(session, world.Submit(session)).status, TurnStatus::kCompleted);
}

TEST(SessionsTest, SupervisorThatCannotBeAskedIsToldByTheTurn) {
  SessionWorld world(CallOnce("Bash", R"({"command":"ls"})"));
  const BundleSource bundle;
  world.sandbox().FailPrepare(Unavailable("gone"));
  const std::string session = world.Create(bundle.path());
  EXPECT_EQ(world.AwaitEnd(session, world.Submit(session)).status, TurnStatus::kInterrupted);
  world.sandbox().FailPrepare(OkStatus());
  EXPECT_EQ(world.AwaitEnd(session, world.Submit(session)).status, TurnStatus::kCompleted);
}

TEST(SessionsTest, CellThatEndsUnderACommandIsToldToTheModel) {
  SessionWorld world(CallOnce("Bash", R"({"command":"ls"})"));
  world.sandbox().on_exec = [](const supervisor::v1::ExecStart&, const sandbox::ExecSink& sink,
                               std::stop_token) -> Result<supervisor::v1::ExecOutcome> {
    ODY_RETURN_IF_ERROR(fakes::Begin(sink));
    return Unavailable("the cell ended under the command");
  };
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  const TurnRecord turn = world.AwaitEnd(session, world.Submit(session));
  EXPECT_EQ(turn.status, TurnStatus::kCompleted);
  const auto finished = world.Await(session, event::Event::kToolCallFinished).tool_call_finished();
  EXPECT_NE(finished.result_json().find("the cell ended under the command; what the call had done "
                                        "by then is not known"),
            std::string::npos)
      << finished.result_json();
}

TEST(SessionsTest, StoppingInterruptsWhatRunsAndIsAskedAndKeepsWhatWaits) {
  SessionWorld world(
      [](const model::ModelRequest& request, const model::ModelSink& sink, std::stop_token stop) {
        if (fakes::PromptOf(request) == "ask") return sink(model::ToolUse{"c", "Write", kWriteA});
        ODY_RETURN_IF_ERROR(Say(sink, "x"));
        return Hang(stop);
      });
  const BundleSource bundle("{ask: [Write]}");
  const std::string a = world.Create(bundle.path()), b = world.Create(bundle.path());
  std::vector<std::pair<std::string, std::string>> turns = {{a, world.Submit(a)},
                                                            {b, world.Submit(b, "ask")}};
  const std::string queued = world.Submit(a, "queued");
  world.Await(a, event::Event::kAgentMessageDelta);
  world.Await(b, event::Event::kPermissionRequested);
  world.sessions().Stop();
  for (const auto& [session, turn] : turns) {
    EXPECT_EQ(world.sessions().GetTurn(session, turn)->status, TurnStatus::kInterrupted);
  }
  EXPECT_EQ(world.sessions().GetTurn(a, queued)->status, TurnStatus::kQueued);
  EXPECT_EQ(world.sessions().Submit(a, "p").status().code(), Code::kUnavailable);
}

TEST(SessionsTest, QueuedTurnsRunInTheirOrderAfterARestart) {
  std::atomic<bool> hang = true;
  std::mutex mutex;
  std::vector<std::string> order;
  SessionWorld world(
      [&](const model::ModelRequest& request, const model::ModelSink& sink, std::stop_token stop) {
        {
          std::lock_guard lock(mutex);
          order.push_back(fakes::PromptOf(request));
        }
        ODY_RETURN_IF_ERROR(Say(sink, "x"));
        return hang ? Hang(stop) : OkStatus();
      },
      {.workers = 2, .queue_bound = 2});
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  const std::string running = world.Submit(session, "1");
  world.Await(session, event::Event::kAgentMessageDelta);
  const std::string second = world.Submit(session, "2"), third = world.Submit(session, "3");
  world.Stop();
  hang = false;
  world.Start();
  EXPECT_EQ(world.AwaitEnd(session, third).status, TurnStatus::kCompleted);
  EXPECT_EQ(world.AwaitEnd(session, second).status, TurnStatus::kCompleted);
  EXPECT_EQ(world.sessions().GetTurn(session, running)->status, TurnStatus::kInterrupted);
  EXPECT_EQ(order, (Names{"1", "2", "3"})) << "none is run twice";
}

TEST(SessionsTest, CrashInterruptsTheTurnThatRanAndRunsTheQueuedOne) {
  SessionWorld world(CallOnce("LS", "{}"));
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  const TurnRecord done = world.AwaitEnd(session, world.Submit(session));
  // What the files hold when agentd is killed in the middle of a turn with another one behind it.
  ASSERT_TRUE(world.store()
                  .Update(session,
                          [](SessionRecord& record) {
                            for (const auto& [id, status] :
                                 {std::pair{"trn_run", TurnStatus::kRunning},
                                  {"trn_wait", TurnStatus::kQueued}}) {
                              TurnRecord turn;
                              turn.id = id;
                              turn.status = status;
                              turn.prompt = "p";
                              record.turns.push_back(turn);
                            }
                            return OkStatus();
                          })
                  .ok());
  for (int restart = 0; restart < 2; ++restart) {
    world.Restart();
    EXPECT_EQ(world.sessions().GetTurn(session, done.id)->status, TurnStatus::kCompleted);
    EXPECT_EQ(world.sessions().GetTurn(session, "trn_run")->status, TurnStatus::kInterrupted);
    EXPECT_EQ(world.AwaitEnd(session, "trn_wait").status, TurnStatus::kCompleted);
    const Names names = world.EventNames(session);
    EXPECT_EQ(std::count(names.begin(), names.end(), "turn_failed"), 1)
        << "told once, not at every start";
    EXPECT_EQ(std::count(names.begin(), names.end(), "turn_completed"), 2);
  }
}

TEST(SessionsTest, CrashKeepsTheToolCallsThatHadFinished) {
  SessionWorld world(CallOnce("LS", "{}"));
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  const TurnRecord done = world.AwaitEnd(session, world.Submit(session));
  ASSERT_EQ(done.history.size(), 4u);
  // The journal of a turn whose end was not recorded.
  ASSERT_TRUE(world.store()
                  .Update(session,
                          [&](SessionRecord& record) {
                            TurnRecord* turn = FindTurn(record, done.id);
                            turn->status = TurnStatus::kRunning;
                            turn->history.clear();
                            turn->announced = false;
                            return OkStatus();
                          })
                  .ok());
  world.Restart();
  const TurnRecord after = *world.sessions().GetTurn(session, done.id);
  EXPECT_EQ(after.status, TurnStatus::kInterrupted);
  EXPECT_EQ(after.history, done.history);
}

TEST(SessionsTest, CrashBetweenRecordAndEventLosesNoEnd) {
  SessionWorld world(CallOnce("LS", "{}"));
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  ASSERT_TRUE(world.store()
                  .Update(session,
                          [](SessionRecord& record) {
                            TurnRecord turn;
                            turn.id = "trn_x";
                            turn.status = TurnStatus::kCompleted;
                            turn.prompt = "p";
                            turn.response = "the answer";
                            record.turns.push_back(turn);
                            return OkStatus();
                          })
                  .ok());
  world.Restart();
  EXPECT_EQ(fakes::Unstamped(world.Await(session, event::Event::kTurnCompleted)),
            fakes::EventOf(R"(turn_completed { turn_id: "trn_x" message: "the answer" })"));
}

TEST(SessionsTest, UnwritableDirectoryFailsAndChangesNothing) {
  SessionWorld world(CallOnce("LS", "{}"));
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  std::filesystem::rename(world.state() + "/sessions", world.state() + "/aside");
  EXPECT_FALSE(world.sessions().Create({bundle.path(), "/", {}, ""}).ok());
  EXPECT_FALSE(world.sessions().Submit(session, "p").ok());
  EXPECT_EQ(world.sessions().List().size(), 1u);
  EXPECT_TRUE((*world.sessions().Get(session))->turns.empty());
  std::filesystem::rename(world.state() + "/aside", world.state() + "/sessions");
  EXPECT_EQ(world.AwaitEnd(session, world.Submit(session)).status, TurnStatus::kCompleted);
}

TEST(SessionsTest, EndThatCannotBeRecordedIsShownAsFailed) {
  Gate gate;
  SessionWorld world(gate.Function());
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  const std::string turn = world.Submit(session);
  world.Await(session, event::Event::kAgentMessageDelta);
  std::filesystem::rename(world.state() + "/sessions", world.state() + "/aside");
  gate.Release();
  const TurnRecord ended = world.AwaitEnd(session, turn);
  EXPECT_EQ(ended.status, TurnStatus::kFailed);
  EXPECT_EQ(ended.error.rfind("the turn's end could not be recorded", 0), 0u) << ended.error;
  EXPECT_EQ(world.EventNames(session).back(), "turn_failed") << "as the record says";
}

TEST(SessionsTest, DeleteEndsTheTurnAndRemovesEverything) {
  SessionWorld world(
      [](const model::ModelRequest&, const model::ModelSink& sink, std::stop_token stop) {
        ODY_RETURN_IF_ERROR(Say(sink, "x"));
        return Hang(stop);
      });
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  world.Submit(session);
  world.Await(session, event::Event::kAgentMessageDelta);
  const std::shared_ptr<event::Journal> journal = *world.sessions().JournalOf(session);
  EXPECT_TRUE(world.sessions().Delete(session).ok());
  EXPECT_TRUE(journal->closed());
  EXPECT_EQ(world.sessions().Get(session).status().code(), Code::kNotFound);
  EXPECT_TRUE(world.sandbox().ListCells()->empty());
  EXPECT_TRUE(world.sandbox().files(session).empty());
  EXPECT_TRUE(std::filesystem::is_empty(world.state() + "/sessions"));
  EXPECT_TRUE(std::filesystem::is_empty(world.state() + "/journals"));
}

// A subscriber that comes while the session is being deleted must not bring its journal back.

TEST(SessionsTest, JournalOfASessionThatIsBeingDeletedStaysGone) {
  SessionWorld world(CallOnce("LS", "{}"));
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  world.AwaitEnd(session, world.Submit(session));
  std::promise<void> removing, looked;
  world.sandbox().on_remove = [&] {
    removing.set_value();
    looked.get_future().wait();
  };
  std::thread deleter([&] { EXPECT_TRUE(world.sessions().Delete(session).ok()); });
  removing.get_future().wait();
  EXPECT_EQ(world.sessions().JournalOf(session).status().code(), Code::kNotFound);
  EXPECT_EQ(world.sessions().Submit(session, "p").status().code(), Code::kNotFound);
  looked.set_value();
  deleter.join();
  EXPECT_TRUE(std::filesystem::is_empty(world.state() + "/journals"));
}

TEST(SessionsTest, DeleteThatFailsCanBeRepeated) {
  SessionWorld world(CallOnce("LS", "{}"));
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  world.AwaitEnd(session, world.Submit(session));
  ASSERT_TRUE(world.sandbox().RemoveCell("cel_" + session, false).ok());
  world.sandbox().FailPrepare(Unavailable("gone"));
  EXPECT_EQ(world.sessions().Delete(session).code(), Code::kUnavailable);
  EXPECT_TRUE(world.sessions().Get(session).ok());
  world.sandbox().FailPrepare(OkStatus());
  EXPECT_TRUE(world.sessions().Delete(session).ok());
  EXPECT_TRUE(world.sandbox().files(session).empty())
      << "directories without a live cell are purged too";
}

TEST(SessionsTest, ReadsAFileOfTheWorkspace) {
  SessionWorld world(CallOnce("LS", "{}"));
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  EXPECT_EQ(world.sessions().ReadFile(session, "README.md", 0, 0)->content(), "# demo\n");
  world.sandbox().MustExist();
  ASSERT_TRUE(world.sandbox().RemoveCell("cel_" + session, /*purge=*/false).ok());
  EXPECT_EQ(world.sessions().ReadFile(session, "README.md", 0, 0)->content(), "# demo\n")
      << "in a new cell where the old one has ended";
  EXPECT_EQ(world.sessions().ReadFile(session, "none", 0, 0).status().code(), Code::kNotFound);
  EXPECT_EQ(world.sessions().ReadFile(session, "", 0, 0).status().code(), Code::kInvalidArgument);
}

// ── danger_full_access ──────────────────────────────────────────────────────────────────────────

TEST(DangerSessionTest, ABundleDoesNotGetItByAskingForIt) {
  SessionWorld world(CallOnce("Bash", R"({"command":"true"})"));
  const BundleSource bundle("{}", "danger_full_access");
  const Status refused = world.sessions().Create({bundle.path(), "/srv", {}, "", 1000}).status();
  EXPECT_EQ(refused.code(), Code::kPermissionDenied);
  EXPECT_NE(refused.message().find("--dangerous-sandbox-mode"), std::string::npos)
      << refused.message();
  EXPECT_TRUE(world.sessions().List().empty()) << "at once, not at the first turn";
}

TEST(DangerSessionTest, ThePersonsWordIsKeptAndToldWithTheDirectoryAndNothingIsPutThere) {
  SessionWorld world(CallOnce("Bash", R"({"command":"true","cwd":"sub"})"));
  const BundleSource bundle("{}", "danger_full_access");
  const auto created =
      world.sessions().Create({bundle.path(), "/srv", {}, "", 1000, /*allow_danger=*/true});
  ASSERT_TRUE(created.ok()) << created.status().message();
  const std::string session = (*created)->id;
  world.Restart();
  world.AwaitEnd(session, world.Submit(session));
  ASSERT_FALSE(world.sandbox().prepared().empty());
  const sandbox::CellSpec cell = world.sandbox().prepared().back();
  EXPECT_TRUE(cell.allow_danger);
  EXPECT_EQ(cell.request.mode, policy::Mode::kDangerFullAccess);
  EXPECT_EQ(cell.request.workspace, "/srv");
  EXPECT_TRUE(world.sandbox().files(session).empty());
  const auto started = world.Await(session, event::Event::kTurnStarted);
  EXPECT_EQ(started.turn_started().sandbox_mode(), "danger_full_access");
  const auto begin = world.Await(session, event::Event::kExecCommandBegin);
  EXPECT_EQ(begin.exec_command_begin().cwd(), "/srv/sub");
}

TEST(DangerSessionTest, WhatTheOperatorDoesNotGrantIsRefusedAtOnceInTheWordsOfATurn) {
  SessionWorld world(CallOnce("Bash", R"({"command":"true"})"));
  const BundleSource bundle("{}", "danger_full_access");
  const NewSession spec{bundle.path(), "/srv", {}, "", 1000, /*allow_danger=*/true};
  const auto before = world.sessions().Create(spec);
  ASSERT_TRUE(before.ok()) << before.status().message();
  const std::string session = (*before)->id;
  world.sandbox().FailPrepare(testing::RefusalOf("mode: danger_full_access: not granted"));
  const TurnRecord turn = world.AwaitEnd(session, world.Submit(session));
  EXPECT_EQ(turn.status, TurnStatus::kFailed);

  const Status refused = world.sessions().Create(spec).status();
  EXPECT_EQ(refused, PermissionDenied(turn.error));
  EXPECT_EQ(refused.message().rfind("odyssey.bundle.json5:5: ", 0), 0u) << refused.message();
  EXPECT_EQ(world.sessions().List().size(), 1u);
  world.Restart();
  EXPECT_EQ(world.sessions().List().size(), 1u) << "nothing of it is stored";
  EXPECT_TRUE(world.sandbox().prepared().empty()) << "to ask makes no cell";
}

TEST(DangerSessionTest, TheWordForABundleThatAsksForLessIsAMistake) {
  SessionWorld world(CallOnce("Bash", R"({"command":"true"})"));
  const BundleSource bundle;
  const Status refused =
      world.sessions().Create({bundle.path(), "/", {}, "", 1000, /*allow_danger=*/true}).status();
  EXPECT_EQ(refused.code(), Code::kInvalidArgument);
  EXPECT_NE(refused.message().find("asks for workspace_write"), std::string::npos)
      << refused.message();
}

// ── Owners ──────────────────────────────────────────────────────────────────────────────────────

constexpr uint32_t kAlice = 4242, kBob = 4243;

// The demo bundle with variables: as a rule a secret of the client's under a harmless name.
class SecretBundle final {
 public:
  explicit SecretBundle(const std::string& env = "{HARMLESS: 'GH_TOKEN'}") {
    bundle_.Write("odyssey.bundle.json5",
                  "{id: 'demo', version: '0.1.0', manifest_version: 'odyssey.bundle/v1',\n"
                  " readme: 'README.md', agent_spec: 'agent.yaml',\n"
                  " executor: {type: 'prebuilt', id: 'react'},\n"
                  " sandbox: {system_tools_mode: 'standard', env: " +
                      env + "}}\n");
  }
  NewSession Session(uint32_t owner) const {
    return {bundle_.path(), "/", {{"GH_TOKEN", "hunter2"}, {"A", "1"}, {"X", "1"}}, "", owner};
  }

 private:
  const BundleSource bundle_;
};

TEST(SessionOwnerTest, TheSupervisorIsToldWhoseCellItIs) {
  SessionWorld world(CallOnce("Write", kWriteA));
  const BundleSource bundle;
  const auto created = world.sessions().Create({bundle.path(), "/", {}, "", kAlice});
  ASSERT_TRUE(created.ok());
  EXPECT_EQ((*created)->owner_uid, kAlice);
  world.Restart();
  world.AwaitEnd((*created)->id, world.Submit((*created)->id));
  ASSERT_FALSE(world.sandbox().prepared().empty());
  EXPECT_EQ(world.sandbox().prepared().back().owner_uid, kAlice);
}

TEST(SessionOwnerTest, ASecretOfTheClientsIsRefusedUnderAnyName) {
  SessionWorld world(CallOnce("Write", kWriteA));
  const Status refused = world.sessions().Create(SecretBundle().Session(kAlice)).status();
  EXPECT_EQ(refused.code(), Code::kPermissionDenied);
  EXPECT_NE(refused.message().find(": sandbox.env.HARMLESS: GH_TOKEN: it looks like a secret"),
            std::string::npos)
      << refused.message();
}

TEST(SessionOwnerTest, ATurnBringsTheValuesOfToday) {
  SessionWorld world(CallOnce("Write", kWriteA));
  const SecretBundle bundle("{HERE: 'A', TOO: 'A', THERE: 'B'}");
  const auto created = world.sessions().Create(bundle.Session(kAlice));
  ASSERT_TRUE(created.ok());
  const std::string id = (*created)->id;
  EXPECT_EQ((*created)->env_sources, (std::set<std::string>{"A", "B"}));
  const auto env_of = [&](const std::optional<Environment>& env) {
    const auto turn = world.sessions().Submit(id, "p", env);
    EXPECT_TRUE(turn.ok());
    world.AwaitEnd(id, turn->turn_id);
    return world.sandbox().prepared().back().request.env;
  };
  using Values = std::map<std::string, std::string>;
  EXPECT_EQ(env_of(std::nullopt), (Values{{"HERE", "1"}, {"TOO", "1"}}));
  EXPECT_EQ(env_of(Environment{{"B", "2"}, {"X", "2"}}), (Values{{"THERE", "2"}}));
  EXPECT_EQ(env_of(Environment{}), Values{});
  EXPECT_EQ(env_of(Environment{{"B", "3"}}), (Values{{"THERE", "3"}}));
  const auto fork = world.sessions().Fork(id);
  ASSERT_TRUE(fork.ok());
  EXPECT_EQ((*fork)->env, (Environment{{"B", "3"}}));
  world.Restart();
  EXPECT_EQ(env_of(std::nullopt), Values{}) << "values are in no file";
  EXPECT_EQ(env_of(Environment{{"B", "4"}}), (Values{{"THERE", "4"}}));
  EXPECT_EQ(
      world.sessions().Submit(id, "p", Environment{{"A", std::string("1\0", 2)}}).status().code(),
      Code::kInvalidArgument);
}

TEST(SessionOwnerTest, ASecretIsGrantedToItsOwnerByName) {
  SessionWorld world(CallOnce("Write", kWriteA));
  const std::string directory = world.state() + "/policy.d";
  std::filesystem::create_directory(directory);
  std::ofstream(directory + "/10.yaml") << "version: odyssey.ceiling/v1\nbuiltin: false\ngrants: "
                                           "[{users: ['4242'], env: [GH_TOKEN]}]\n";
  const SecretBundle bundle;
  EXPECT_TRUE(world.sessions().Create(bundle.Session(kAlice)).ok());
  EXPECT_EQ(world.sessions().Create(bundle.Session(kBob)).status().code(), Code::kPermissionDenied);
  std::ofstream(directory + "/10.yaml") << "nonsense\n";
  EXPECT_FALSE(world.sessions().Create(bundle.Session(kAlice)).ok());
}

// ── Setups ──────────────────────────────────────────────────────────────────────────────────────

TEST(SessionSetupTest, UnchangedTurnReadsNoBundleAndMakesNoRequest) {
  SessionWorld world(CallOnce("Write", kWriteA));
  const SecretBundle bundle("{HERE: 'A'}");
  const auto created = world.sessions().Create(bundle.Session(kAlice));
  ASSERT_TRUE(created.ok());
  const std::string id = (*created)->id;
  const SetupCache& setups = *world.sessions().runtime().setups;
  world.AwaitEnd(id, world.Submit(id));
  EXPECT_EQ(setups.setups(), 1u);
  const int opened = world.models().opened();
  for (int turn = 0; turn < 3; ++turn) world.AwaitEnd(id, world.Submit(id));
  EXPECT_EQ(setups.setups(), 1u);
  EXPECT_EQ(world.models().opened(), opened);
  // Another session has its own.
  const auto second = world.sessions().Create(bundle.Session(kAlice));
  ASSERT_TRUE(second.ok());
  world.AwaitEnd((*second)->id, world.Submit((*second)->id));
  EXPECT_EQ(setups.setups(), 2u);
  EXPECT_NE(world.sandbox().prepared().back().key.session_id, id);
}

TEST(SessionSetupTest, TurnWithOtherValuesIsSetUpAgain) {
  SessionWorld world(CallOnce("Write", kWriteA));
  const auto created = world.sessions().Create(SecretBundle("{HERE: 'A'}").Session(kAlice));
  ASSERT_TRUE(created.ok());
  const std::string id = (*created)->id;
  world.AwaitEnd(id, world.Submit(id));
  const auto turn = world.sessions().Submit(id, "p", Environment{{"A", "2"}});
  world.AwaitEnd(id, turn->turn_id);
  EXPECT_EQ(world.sessions().runtime().setups->setups(), 2u);
  EXPECT_EQ(world.sandbox().prepared().back().request.env.at("HERE"), "2");
}

TEST(SessionSetupTest, GrantThatIsTakenBackEndsTheNextTurn) {
  SessionWorld world(CallOnce("Write", kWriteA));
  const std::string directory = world.state() + "/policy.d";
  std::filesystem::create_directory(directory);
  std::ofstream(directory + "/10.yaml")
      << "version: odyssey.ceiling/v1\ngrants: [{users: ['4242'], env: [GH_TOKEN]}]\n";
  const auto created = world.sessions().Create(SecretBundle().Session(kAlice));
  ASSERT_TRUE(created.ok());
  const std::string id = (*created)->id;
  EXPECT_EQ(world.AwaitEnd(id, world.Submit(id)).status, TurnStatus::kCompleted);
  std::ofstream(directory + "/10.yaml") << "version: odyssey.ceiling/v1\n";
  const TurnRecord refused = world.AwaitEnd(id, world.Submit(id));
  EXPECT_EQ(refused.status, TurnStatus::kFailed);
  EXPECT_NE(refused.error.find("GH_TOKEN"), std::string::npos) << refused.error;
}

}  // namespace
}  // namespace odyssey::session
