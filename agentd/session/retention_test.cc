// What may go of a journal, and sessions whose journals are bounded, compacted, exported and
// imported.

#include "agentd/session/retention.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "agentd/session/sessions.h"
#include "tests/fakes/bundle_source.h"
#include "tests/fakes/session_world.h"

namespace odyssey::session {
namespace {

using fakes::BundleSource;
using fakes::CallOnce;
using fakes::SessionWorld;
using Names = std::vector<std::string>;

constexpr char kWriteA[] = R"({"content":"x","path":"a"})";

const std::vector<TurnEnd> kEnds = {{10, "2026-01-01", 900},
                                    {20, "2026-01-02", 400},
                                    {30, "2026-01-03", 200},
                                    {40, "2026-01-04", 0}};

TEST(RetentionTest, KeepsSoManyTurns) {
  EXPECT_EQ(CutToTurns(kEnds, 0), 40u);
  EXPECT_EQ(CutToTurns(kEnds, 1), 30u);
  EXPECT_EQ(CutToTurns(kEnds, 3), 10u);
  EXPECT_EQ(CutToTurns(kEnds, 4), 0u);
  EXPECT_EQ(CutToTurns(kEnds, UINT32_MAX), 0u);
  EXPECT_EQ(CutToTurns({}, 0), 0u);
}

TEST(RetentionTest, LeavesHalfOfTheBoundAndAlwaysTheLastTurn) {
  EXPECT_EQ(CutToBounds(kEnds, 1000, ""), 20u);
  EXPECT_EQ(CutToBounds(kEnds, 1800, ""), 10u);
  EXPECT_EQ(CutToBounds(kEnds, 10, ""), 30u);
  EXPECT_EQ(CutToBounds({kEnds[0]}, 10, ""), 0u);
  EXPECT_EQ(CutToBounds(kEnds, 0, ""), 0u);
}

TEST(RetentionTest, TimeTakesTheLastTurnToo) {
  EXPECT_EQ(CutToBounds(kEnds, 0, "2026-01-03"), 20u);
  EXPECT_EQ(CutToBounds(kEnds, 0, "2027"), 40u);
  EXPECT_EQ(CutToBounds(kEnds, 10, "2027"), 40u);
  EXPECT_EQ(CutToBounds(kEnds, 10, "2026-01-02"), 30u);
}

void RunTurns(SessionWorld& world, const std::string& session, int turns) {
  for (int i = 0; i < turns; ++i) {
    EXPECT_EQ(world.AwaitEnd(session, world.Submit(session)).status, TurnStatus::kCompleted);
  }
}

TEST(CompactTest, EventsGoAndHistoryStays) {
  SessionWorld world(CallOnce("Write", kWriteA));
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  RunTurns(world, session, 3);
  const auto journal = *world.sessions().JournalOf(session);
  const uint64_t last = journal->last_sequence();
  const Result<Compacted> done = world.sessions().Compact(session, 1);
  ASSERT_TRUE(done.ok()) << done.status().ToString();
  EXPECT_EQ(done->events, last / 3 * 2);
  EXPECT_GT(done->bytes, 0u);
  const std::vector<event::Event> events = *journal->ReadAfter(0, 100);
  EXPECT_TRUE(events.front().has_events_removed());
  EXPECT_EQ(events.front().events_removed().reason(), "compaction");
  EXPECT_EQ(events[1].turn_started().turn_id(), (*world.sessions().Get(session))->turns[2].id);
  EXPECT_EQ(world.sessions().Compact(session, 1)->events, 0u);
  EXPECT_EQ(world.sessions().Compact(session, 0)->events, last - done->events);

  world.Restart();
  EXPECT_TRUE(world.warnings().empty());
  EXPECT_EQ((*world.sessions().JournalOf(session))->last_sequence(), last)
      << "no end is told a second time";
  EXPECT_EQ((*world.sessions().Get(session))->turns.size(), 3u);
  RunTurns(world, session, 1);
  EXPECT_GT(world.model().requests().back().messages.size(), 9u) << "the model sees the three";
}

TEST(CompactTest, NotWhileATurnWaits) {
  SessionWorld world(CallOnce("Write", kWriteA));
  const BundleSource bundle("{ask: [Write]}");
  const std::string session = world.Create(bundle.path());
  world.Submit(session);
  world.Await(session, event::Event::kPermissionRequested);
  EXPECT_EQ(world.sessions().Compact(session, 0).status().code(), Code::kFailedPrecondition);
}

TEST(CompactTest, TheEndOfATurnKeepsTheJournalWithinItsBound) {
  SessionWorld world(CallOnce("Write", kWriteA), {.retention = {.max_bytes = 8192}});
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  for (int i = 0; i < 12; ++i) {
    RunTurns(world, session, 1);
    // What a turn adds at most is above the bound until its end has been looked at.
    EXPECT_LT(std::filesystem::file_size(world.state() + "/journals/" + session + ".jsonl"),
              20'000u);
  }
  world.sessions().Stop();
  const event::Event first = (*world.sessions().JournalOf(session))->ReadAfter(0, 1)->at(0);
  EXPECT_EQ(first.events_removed().reason(), "retention");
}

TEST(CompactTest, OldEventsGoWithTime) {
  SessionWorld world(CallOnce("Write", kWriteA),
                     {.retention = {.max_bytes = 0, .keep = std::chrono::hours(24)}});
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  RunTurns(world, session, 1);
  world.Restart();
  EXPECT_TRUE(world.sessions().ApplyRetention().empty());
  const auto journal = *world.sessions().JournalOf(session);
  EXPECT_EQ(journal->removed_through(), 0u);
  world.clock().Advance(std::chrono::hours(25));
  EXPECT_TRUE(world.sessions().ApplyRetention().empty());
  EXPECT_EQ(journal->removed_through(), journal->last_sequence());
}

session_file::SessionFile Export(SessionWorld& world, const std::string& session) {
  const Result<session_file::SessionFile> file = world.sessions().Export(session);
  EXPECT_TRUE(file.ok()) << file.status().ToString();
  return file.ok() ? *file : session_file::SessionFile();
}

TEST(ImportTest, WhatWasExportedComesBackWithTheSameHistory) {
  SessionWorld world(CallOnce("Write", kWriteA));
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  RunTurns(world, session, 2);
  const session_file::SessionFile file = Export(world, session);
  EXPECT_EQ(session_file::IdOf("ses", file.id), session);
  const Result<session_file::SessionFile> read =
      session_file::DecodeSessionFile(session_file::EncodeSessionFile(file));
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(*read, file);

  const Result<SessionPtr> imported =
      world.sessions().Import({.bundle = bundle.path(), .owner_uid = 7}, *read);
  ASSERT_TRUE(imported.ok()) << imported.status().ToString();
  const SessionRecord before = **world.sessions().Get(session);
  const SessionRecord after = **imported;
  EXPECT_NE(after.id, session) << "an id of its own";
  EXPECT_EQ(after.owner_uid, 7u);
  EXPECT_EQ(after.bundle, before.bundle);
  EXPECT_EQ(HistoryOf(after), HistoryOf(before));
  EXPECT_EQ(after.message_count, before.message_count);
  ASSERT_EQ(after.turns.size(), 2u);
  EXPECT_EQ(after.turns[0].id, before.turns[0].id);
  EXPECT_EQ(after.turns[0].response, before.turns[0].response);
  session_file::SessionFile again = Export(world, after.id);
  again.id = file.id;
  EXPECT_EQ(again, file);

  // An ordinary session: it goes on, over a restart, with what was said.
  world.Restart();
  EXPECT_TRUE(world.EventNames(after.id).empty()) << "nothing of it happened here";
  RunTurns(world, after.id, 1);
  EXPECT_EQ(world.model().requests().back().messages.front().content, "go");
  EXPECT_GT(world.model().requests().back().messages.size(), 8u);
}

TEST(ImportTest, TheFileNamesAnInstalledBundleAndNoPath) {
  SessionWorld world(CallOnce("Write", kWriteA));
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  RunTurns(world, session, 1);
  session_file::SessionFile file = Export(world, session);
  EXPECT_EQ(world.sessions().Import({}, file).status().code(), Code::kNotFound);
  ASSERT_TRUE(world.bundles().Build(bundle.path(), {}).ok());
  for (const char* reference : {"local/demo@0.1.0", "demo@latest", "demo"}) {
    file.bundle_ref = reference;
    EXPECT_TRUE(world.sessions().Import({}, file).ok()) << reference;
  }
  for (const std::string& path : {bundle.path(), std::string("./demo")}) {
    file.bundle_ref = path;
    const Status refused = world.sessions().Import({}, file).status();
    EXPECT_EQ(refused.code(), Code::kInvalidArgument);
    EXPECT_NE(refused.message().find("--bundle"), std::string::npos) << refused.message();
  }
  file.bundle_ref = "demo";
  file.agent_id = "other";
  EXPECT_FALSE(world.sessions().Import({}, file).ok());
}

TEST(ImportTest, AFailedTurnIsExportedWithWhatItDid) {
  SessionWorld world(CallOnce("Write", kWriteA));
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  RunTurns(world, session, 1);
  ASSERT_TRUE(world.store()
                  .Update(session,
                          [](SessionRecord& record) {
                            TurnRecord failed = record.turns[0];
                            failed.id = "trn_" + std::string(32, 'a');
                            failed.status = TurnStatus::kFailed;
                            TurnRecord never = failed;
                            never.id = "trn_" + std::string(32, 'b');
                            never.history.clear();
                            record.turns.push_back(failed);
                            record.turns.push_back(never);
                            return OkStatus();
                          })
                  .ok());
  EXPECT_EQ(Export(world, session).turns.size(), 2u);
}

}  // namespace
}  // namespace odyssey::session
