// Sessions::BeginDrain.

#include <gtest/gtest.h>

#include "agentd/session/sessions.h"
#include "tests/fakes/bundle_source.h"
#include "tests/fakes/session_world.h"

namespace odyssey::session {
namespace {

using fakes::BundleSource;
using fakes::Say;
using fakes::SessionWorld;

constexpr std::chrono::seconds kHang{20};

bool BecomesQuiet(const Sessions& sessions) {
  const auto until = std::chrono::steady_clock::now() + kHang;
  while (!sessions.IsQuiet() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return sessions.IsQuiet();
}

// The turn with the prompt "first" waits for Release; others end at once.
class DrainTest : public ::testing::Test {
 protected:
  fakes::FakeModelClient::Function Model() {
    return
        [this](const model::ModelRequest& request, const model::ModelSink& sink, std::stop_token) {
          ODY_RETURN_IF_ERROR(Say(sink, "x"));
          if (fakes::PromptOf(request) == "first") released_.wait();
          return OkStatus();
        };
  }
  std::promise<void> release_;
  std::shared_future<void> released_ = release_.get_future().share();
  SessionWorld world_{Model(), {.workers = 1}};
  const BundleSource bundle_;
};

TEST_F(DrainTest, WhatRunsEndsWhatIsQueuedStaysAndNothingIsAccepted) {
  const std::string session = world_.Create(bundle_.path());
  const std::string other = world_.Create(bundle_.path());
  const std::string running = world_.Submit(session, "first");
  world_.Await(session, event::Event::kAgentMessageDelta);
  const std::string queued = world_.Submit(session, "second");
  const std::string waiting = world_.Submit(other, "third");
  EXPECT_FALSE(world_.sessions().draining());
  world_.sessions().BeginDrain();
  EXPECT_TRUE(world_.sessions().draining());
  EXPECT_FALSE(world_.sessions().IsQuiet());

  for (const Status& refused :
       {world_.sessions().Submit(other, "go").status(),
        world_.sessions().Create({bundle_.path(), "/", {}, ""}).status(),
        world_.sessions().Fork(other).status(),
        world_.sessions().Hold(other, [](const Result<std::string>&) {}).status(),
        world_.sessions().Cancel(session, queued).status()}) {
    EXPECT_EQ(refused.code(), Code::kUnavailable) << refused.ToString();
  }
  EXPECT_NE(world_.sessions().Submit(other, "go").status().message().find("draining"),
            std::string::npos);
  EXPECT_EQ((*world_.sessions().Get(other))->turns.size(), 1u);

  release_.set_value();
  EXPECT_EQ(world_.AwaitEnd(session, running).status, TurnStatus::kCompleted);
  EXPECT_TRUE(BecomesQuiet(world_.sessions()));
  EXPECT_EQ(world_.sessions().GetTurn(session, queued)->status, TurnStatus::kQueued);
  EXPECT_EQ(world_.sessions().GetTurn(other, waiting)->status, TurnStatus::kQueued);
  world_.Restart();
  EXPECT_EQ(world_.AwaitEnd(session, queued).status, TurnStatus::kCompleted);
  EXPECT_EQ(world_.AwaitEnd(other, waiting).status, TurnStatus::kCompleted);
}

TEST_F(DrainTest, ItsEndInterruptsWhatStillRuns) {
  SessionWorld world(
      [](const model::ModelRequest&, const model::ModelSink& sink, std::stop_token stop) {
        ODY_RETURN_IF_ERROR(Say(sink, "x"));
        std::promise<void> stopped;
        const std::stop_callback on_stop(stop, [&] { stopped.set_value(); });
        stopped.get_future().wait();
        return Cancelled("stopped");
      });
  const std::string session = world.Create(bundle_.path());
  const std::string turn = world.Submit(session);
  world.Await(session, event::Event::kAgentMessageDelta);
  world.sessions().BeginDrain();
  world.sessions().Stop();
  EXPECT_EQ(world.sessions().GetTurn(session, turn)->status, TurnStatus::kInterrupted);
}

TEST_F(DrainTest, SessionsCanStillBeReadAndRemoved) {
  const std::string session = world_.Create(bundle_.path());
  world_.AwaitEnd(session, world_.Submit(session));
  world_.sessions().BeginDrain();
  EXPECT_TRUE(world_.sessions().Get(session).ok());
  EXPECT_TRUE(world_.sessions().Delete(session).ok());
}

}  // namespace
}  // namespace odyssey::session
