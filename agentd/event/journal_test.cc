#include "agentd/event/journal.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "agentd/base/quarantine.h"
#include "agentd/event/journal_store.h"
#include "common/message/event_json.h"
#include "common/os/file.h"
#include "tests/fakes/events.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_ids.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey::event {
namespace {

using fakes::EventOf;
using message::EncodeEvent;

Event Delta(const std::string& text) {
  Event out;
  out.mutable_agent_message_delta()->set_turn_id("trn_1");
  out.mutable_agent_message_delta()->set_delta(text);
  return out;
}
const Event kCancelled = EventOf(R"(turn_cancelled { turn_id: "trn_1" })");

constexpr char kSession[] = "ses_00000000000000000000000000000001";

class JournalTest : public ::testing::Test {
 protected:
  std::shared_ptr<Journal> Open() {
    Result<std::shared_ptr<Journal>> journal = Journal::Open(path_, kSession, {&clock_, &ids_});
    EXPECT_TRUE(journal.ok()) << journal.status().ToString();
    return journal.ok() ? *journal : nullptr;
  }
  static uint64_t AppendDelta(Journal& journal, const std::string& text) {
    Result<uint64_t> sequence = journal.Append(Delta(text), Durability::kBatched);
    EXPECT_TRUE(sequence.ok()) << sequence.status().ToString();
    return sequence.ok() ? *sequence : 0;
  }
  void AppendRaw(const std::string& bytes) { std::ofstream(path_, std::ios::app) << bytes; }

  fakes::TemporaryDirectory directory_;
  fakes::FakeClock clock_;
  fakes::FakeIds ids_;
  const std::string path_ = directory_.path() + "/j.jsonl";
};

TEST_F(JournalTest, TellsOfWhatWasAppendedAndOfNothingElse) {
  std::vector<Event> told;
  const auto journal = *Journal::Open(
      path_, kSession, {&clock_, &ids_, [&told](const Event& event) { told.push_back(event); }});
  AppendDelta(*journal, "a");
  AppendDelta(*journal, "b");
  journal->Close();
  EXPECT_FALSE(journal->Append(Delta("c"), Durability::kBatched).ok());
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(fakes::Unstamped(told[1]), Delta("b"));
  EXPECT_EQ(told[1].sequence(), 2u);
}

TEST_F(JournalTest, SequencesCountFromOneWithoutGapsAcrossRestarts) {
  EXPECT_EQ(AppendDelta(*Open(), "a"), 1u);
  EXPECT_EQ(AppendDelta(*Open(), "b"), 2u);
  const auto journal = Open();
  EXPECT_EQ(journal->last_sequence(), 2u);
  Result<std::vector<Event>> events = journal->ReadAfter(0, 10);
  ASSERT_TRUE(events.ok());
  ASSERT_EQ(events->size(), 2u);
  EXPECT_EQ((*events)[0].sequence(), 1u);
  EXPECT_EQ(fakes::Unstamped((*events)[1]), Delta("b"));
  EXPECT_EQ((*events)[1].session_id(), kSession);
}

TEST_F(JournalTest, FileIsPrivate) {
  Open();
  struct stat info;
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(JournalTest, TornLastLineIsRemovedAndItsSequenceUsedAgain) {
  AppendDelta(*Open(), "a");
  AppendRaw(R"({"id":"evt_x","session_id":"ses)");
  const auto journal = Open();
  EXPECT_EQ(journal->last_sequence(), 1u);
  EXPECT_EQ(AppendDelta(*journal, "b"), 2u);
  Result<std::vector<Event>> events = Open()->ReadAfter(0, 10);
  ASSERT_TRUE(events.ok());
  EXPECT_EQ(events->size(), 2u);
}

TEST_F(JournalTest, LastLineWithoutItsContentIsRemoved) {
  AppendDelta(*Open(), "a");
  AppendRaw(std::string(100, '\0') + "\n");
  EXPECT_EQ(Open()->last_sequence(), 1u);
  EXPECT_EQ(Open()->last_sequence(), 1u);
}

TEST_F(JournalTest, OnlyATornLineLeavesAnEmptyJournal) {
  AppendRaw("{\"id");
  EXPECT_EQ(AppendDelta(*Open(), "a"), 1u);
}

std::vector<uint64_t> Sequences(const std::vector<Event>& events) {
  std::vector<uint64_t> out;
  for (const Event& event : events) out.push_back(event.sequence());
  return out;
}

Event RemovedUntil(uint64_t last, const std::string& reason) {
  Event out;
  out.mutable_events_removed()->set_first_sequence(1);
  out.mutable_events_removed()->set_last_sequence(last);
  out.mutable_events_removed()->set_reason(reason);
  return out;
}

TEST_F(JournalTest, RemovedEventsAreOneAndTheOthersKeepTheirSequences) {
  const auto journal = Open();
  for (int i = 1; i <= 300; ++i) AppendDelta(*journal, std::to_string(i) + std::string(500, 'x'));
  const uint64_t before = std::filesystem::file_size(path_);
  const Result<Removed> removed = journal->RemoveThrough(200, kCompaction);
  ASSERT_TRUE(removed.ok()) << removed.status().ToString();
  EXPECT_EQ(removed->events, 200u);
  EXPECT_EQ(removed->bytes, before - std::filesystem::file_size(path_));
  EXPECT_EQ(journal->last_sequence(), 300u);
  EXPECT_EQ(AppendDelta(*journal, "next"), 301u);

  for (const auto& each : {journal, Open()}) {
    EXPECT_EQ(each->last_sequence(), 301u);
    EXPECT_EQ(each->removed_through(), 200u);
    for (const uint64_t after : {0, 7, 199}) {
      const std::vector<Event> events = *each->ReadAfter(after, 3);
      EXPECT_EQ(Sequences(events), (std::vector<uint64_t>{200, 201, 202})) << after;
      EXPECT_EQ(fakes::Unstamped(events[0]), RemovedUntil(200, kCompaction));
    }
    for (const uint64_t after : {200, 263, 264, 265, 299}) {
      EXPECT_EQ(each->ReadAfter(after, 1)->at(0).sequence(), after + 1) << after;
    }
  }
  EXPECT_EQ(journal->RemoveThrough(200, kCompaction)->events, 0u);
  EXPECT_EQ(journal->RemoveThrough(250, kRetention)->events, 50u);
  EXPECT_EQ(fakes::Unstamped(journal->ReadAfter(0, 1)->at(0)), RemovedUntil(250, kRetention));
  EXPECT_EQ(journal->RemoveThrough(999, kRetention)->events, 51u) << "all that there is";
  EXPECT_EQ(Sequences(*Open()->ReadAfter(0, 9)), std::vector<uint64_t>{301});
  EXPECT_EQ(AppendDelta(*Open(), "more"), 302u);
}

TEST_F(JournalTest, ARemovalThatFailsLeavesTheJournalAsItWas) {
  const auto journal = Open();
  for (int i = 0; i < 5; ++i) AppendDelta(*journal, "x");
  std::filesystem::create_directories(path_ + kJournalTemporary + "/in the way");
  EXPECT_FALSE(journal->RemoveThrough(3, kCompaction).ok());
  EXPECT_EQ(journal->ReadAfter(0, 9)->size(), 5u);
  EXPECT_EQ(AppendDelta(*journal, "y"), 6u);
  EXPECT_EQ(Open()->last_sequence(), 6u);
}

TEST_F(JournalTest, WhatACrashLeftOfARemovalIsReplaced) {
  const auto journal = Open();
  for (int i = 0; i < 5; ++i) AppendDelta(*journal, "x");
  std::ofstream(path_ + kJournalTemporary) << "half of a li";
  ASSERT_TRUE(journal->RemoveThrough(3, kCompaction).ok());
  EXPECT_EQ(Sequences(*Open()->ReadAfter(0, 9)), (std::vector<uint64_t>{3, 4, 5}));
  EXPECT_FALSE(std::filesystem::exists(path_ + kJournalTemporary));
}

TEST_F(JournalTest, ARemovalDoesNotBringTheJournalOfARemovedSessionBack) {
  const auto journal = Open();
  for (int i = 0; i < 5; ++i) AppendDelta(*journal, "x");
  journal->Close();
  std::filesystem::remove(path_);
  EXPECT_EQ(journal->RemoveThrough(3, kRetention).status().code(), Code::kFailedPrecondition);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(JournalTest, ALineOutOfSequenceIsDamage) {
  Event out_of_sequence = kCancelled;
  out_of_sequence.set_sequence(5);
  AppendRaw(EncodeEvent(out_of_sequence) + "\n");
  const auto journal = Open();
  const std::vector<Event> events = *journal->ReadAfter(0, 9);
  EXPECT_EQ(Sequences(events), (std::vector<uint64_t>{4, 5}));
  EXPECT_EQ(fakes::Unstamped(events[0]), RemovedUntil(4, kDamage));
}

// Replaces the byte at `offset` of the file.
void Damage(const std::string& path, size_t offset, char byte) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(byte);
}

TEST_F(JournalTest, ADamagedLineAndAllBeforeItBecomeAGap) {
  const auto journal = Open();
  std::vector<size_t> ends;
  for (int i = 0; i < 10; ++i) {
    AppendDelta(*journal, "x");
    ends.push_back(std::filesystem::file_size(path_));
  }
  struct Case {
    size_t offset;
    char byte;
    uint64_t gap;
  };
  // A line that is no JSON, two lines in one, a line in two.
  const std::string whole = *ReadFile(path_, 1 << 20);
  for (const Case& damage :
       {Case{ends[3] + 5, '\x01', 5}, {ends[3] - 1, ' ', 5}, {ends[6] + 9, '\n', 8}}) {
    std::ofstream(path_) << whole;
    Damage(path_, damage.offset, damage.byte);
    const auto again = Open();
    EXPECT_EQ(again->last_sequence(), 10u);
    std::vector<Event> events;
    for (uint64_t after = 0; after < 10; after = events.back().sequence()) {
      const Result<std::vector<Event>> more = again->ReadAfter(after, 100);
      ASSERT_TRUE(more.ok()) << more.status().ToString();
      ASSERT_FALSE(more->empty());
      events.insert(events.end(), more->begin(), more->end());
    }
    const auto gap = std::find_if(events.begin(), events.end(),
                                  [](const Event& event) { return event.has_events_removed(); });
    ASSERT_NE(gap, events.end());
    EXPECT_EQ(gap->sequence(), damage.gap);
    EXPECT_EQ(gap->events_removed().reason(), kDamage);
    const std::string aside = path_ + ".corrupt-" + std::to_string(whole.size());
    EXPECT_TRUE(std::filesystem::exists(aside)) << "kept for a person";
    std::filesystem::remove(aside);
    EXPECT_EQ(AppendDelta(*again, "y"), 11u);
    EXPECT_EQ(Open()->last_sequence(), 11u);
  }
}

TEST_F(JournalTest, DamagedLinesAtTheEndAreCutOff) {
  const auto journal = Open();
  for (int i = 0; i < 5; ++i) AppendDelta(*journal, "x");
  AppendRaw("not a line\n");
  const auto again = Open();
  EXPECT_EQ(Sequences(*again->ReadAfter(0, 9)), (std::vector<uint64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(AppendDelta(*again, "y"), 6u);
  EXPECT_EQ(agent::QuarantinedIn(directory_.path()).size(), 1u);
  ASSERT_TRUE(again->RemoveThrough(4, kCompaction).ok());
  AppendRaw("not a line");
  const std::vector<Event> events = *Open()->ReadAfter(0, 9);
  EXPECT_EQ(Sequences(events), (std::vector<uint64_t>{4, 5, 6}));
  EXPECT_EQ(events[0].events_removed().reason(), kCompaction);
}

TEST_F(JournalTest, AFileThatIsNoJournalIsSetAside) {
  AppendRaw("this is not\na journal");
  const auto journal = Open();
  EXPECT_EQ(AppendDelta(*journal, "a"), 2u) << "one line was there";
  EXPECT_EQ(Sequences(*journal->ReadAfter(0, 9)), (std::vector<uint64_t>{1, 2}));
  EXPECT_TRUE(std::filesystem::exists(path_ + ".corrupt-21"));
}

TEST_F(JournalTest, ReadsAnyRangeOfALongJournal) {
  const auto journal = Open();
  for (int i = 1; i <= 1000; ++i) AppendDelta(*journal, std::to_string(i) + std::string(200, 'x'));
  for (const uint64_t after : {0, 1, 63, 64, 65, 127, 500, 999}) {
    Result<std::vector<Event>> events = journal->ReadAfter(after, 7);
    ASSERT_TRUE(events.ok());
    ASSERT_EQ(events->size(), std::min<size_t>(7, 1000 - after));
    EXPECT_EQ(events->front().sequence(), after + 1);
  }
  EXPECT_TRUE(journal->ReadAfter(1000, 7)->empty());
  EXPECT_TRUE(journal->ReadAfter(5000, 7)->empty());
}

TEST_F(JournalTest, ReadsALineLongerThanItsBuffer) {
  const auto journal = Open();
  AppendDelta(*journal, std::string(500'000, 'y'));
  Result<std::vector<Event>> events = journal->ReadAfter(0, 1);
  ASSERT_TRUE(events.ok());
  ASSERT_EQ(events->size(), 1u);
  EXPECT_EQ((*events)[0].agent_message_delta().delta().size(), 500'000u);
}

TEST_F(JournalTest, NotifiesOnceAndNotAtAllIfThereIsMore) {
  const auto journal = Open();
  int calls = 0;
  EXPECT_TRUE(journal->NotifyAfter(0, [&] { ++calls; }));
  AppendDelta(*journal, "a");
  AppendDelta(*journal, "b");
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(journal->NotifyAfter(1, [&] { ++calls; }));
  EXPECT_EQ(calls, 1);
}

TEST_F(JournalTest, CloseWakesReadersAndRefusesAppends) {
  const auto journal = Open();
  bool woken = false;
  EXPECT_TRUE(journal->NotifyAfter(0, [&] { woken = true; }));
  journal->Close();
  EXPECT_TRUE(woken);
  EXPECT_TRUE(journal->closed());
  EXPECT_EQ(journal->Append(kCancelled, Durability::kSynced).status().code(),
            Code::kFailedPrecondition);
}

TEST_F(JournalTest, ReaderBesideWriterSeesEveryEventExactlyOnceInOrder) {
  const auto journal = Open();
  constexpr uint64_t kEvents = 12'000;
  std::thread writer([&] {
    for (uint64_t i = 0; i < kEvents; ++i) AppendDelta(*journal, "x");
  });
  uint64_t seen = 0;
  while (seen < kEvents) {
    Result<std::vector<Event>> events = journal->ReadAfter(seen, 100);
    ASSERT_TRUE(events.ok()) << events.status().ToString();
    for (const Event& event : *events) ASSERT_EQ(event.sequence(), ++seen);
  }
  writer.join();
  EXPECT_EQ(journal->last_sequence(), kEvents);
}

TEST_F(JournalTest, FailedWriteLeavesTheFileAsItWas) {
  const auto journal = Open();
  AppendDelta(*journal, "a");
  bool woken = false;
  EXPECT_TRUE(journal->NotifyAfter(1, [&] { woken = true; }));
  // A limit on the file's size stands for a full disk: part of the line still fits.
  const rlimit limit{std::filesystem::file_size(path_) + 50, RLIM_INFINITY};
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old = signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  Result<uint64_t> refused = journal->Append(Delta("b"), Durability::kSynced);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, old);
  EXPECT_FALSE(refused.ok());
  EXPECT_TRUE(woken);
  EXPECT_EQ(journal->failure(), refused.status());
  EXPECT_FALSE(journal->NotifyAfter(1, [] {}));
  EXPECT_EQ(Open()->last_sequence(), 1u);
  EXPECT_EQ(AppendDelta(*journal, "c"), 2u);
  EXPECT_TRUE(journal->failure().ok());
}

Event Parsed(const Encoded& encoded) {
  Event out;
  EXPECT_TRUE(out.ParseFromString(*encoded));
  return out;
}

// Shown with a file that nothing can be read from any more.
TEST_F(JournalTest, AFollowerIsServedWithoutReadingTheFile) {
  const auto journal = Open();
  AppendDelta(*journal, "before");
  Follower follower(journal, 1);
  for (const char* text : {"a", "b", "c"}) AppendDelta(*journal, text);
  std::filesystem::resize_file(path_, 0);

  Result<std::vector<Encoded>> first = follower.Next(2);
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  ASSERT_EQ(first->size(), 2u);
  EXPECT_EQ(fakes::Unstamped(Parsed((*first)[0])), Delta("a"));
  EXPECT_EQ(Parsed((*first)[0]).sequence(), 2u);
  EXPECT_EQ(follower.position(), 3u);
  Result<std::vector<Encoded>> rest = follower.Next(10);
  ASSERT_TRUE(rest.ok());
  ASSERT_EQ(rest->size(), 1u);
  EXPECT_EQ(Parsed((*rest)[0]).sequence(), 4u);
  EXPECT_TRUE(follower.Next(10)->empty()) << "and there is nothing to look for in the file";

  EXPECT_FALSE(Follower(journal, 0).Next(1).ok()) << "what was before it is in the file alone";
}

TEST_F(JournalTest, EveryFollowerGetsTheSameEncoding) {
  const auto journal = Open();
  Follower one(journal, 0), other(journal, 0);
  AppendDelta(*journal, "a");
  EXPECT_EQ(one.Next(1)->at(0).get(), other.Next(1)->at(0).get());
}

TEST_F(JournalTest, AFollowerThatFallsBehindReadsTheFileAndCatchesUp) {
  const auto journal = Open();
  Follower follower(journal, 0);
  const std::string text(kTailBytes / 4, 'x');
  for (int i = 0; i < 20; ++i) AppendDelta(*journal, text);
  uint64_t seen = 0;
  for (int i = 0; i < 20; ++i) {
    const Result<std::vector<Encoded>> next = follower.Next(1);
    ASSERT_TRUE(next.ok()) << next.status().ToString();
    ASSERT_EQ(next->size(), 1u);
    const Event event = Parsed(next->at(0));
    EXPECT_EQ(event.sequence(), ++seen);
    EXPECT_EQ(event.agent_message_delta().delta(), text);
  }
}

TEST_F(JournalTest, AFollowerReadsItsFileToTheEndThoughEventsAreRemoved) {
  const auto journal = Open();
  for (int i = 0; i < 200; ++i) AppendDelta(*journal, "x");
  Follower reading(journal, 0), behind(journal, 0);
  ASSERT_EQ(reading.Next(10)->size(), 10u);
  ASSERT_TRUE(journal->RemoveThrough(150, kRetention).ok());
  AppendDelta(*journal, "y");
  uint64_t seen = 10;
  while (seen < 201) {
    const Result<std::vector<Encoded>> next = reading.Next(7);
    ASSERT_TRUE(next.ok()) << next.status().ToString();
    for (const Encoded& encoded : *next) EXPECT_EQ(Parsed(encoded).sequence(), ++seen);
  }
  EXPECT_EQ(reading.position(), 201u);
  const Event gap = Parsed(behind.Next(1)->at(0));
  EXPECT_EQ(fakes::Unstamped(gap), RemovedUntil(150, kRetention));
  EXPECT_EQ(Parsed(behind.Next(1)->at(0)).sequence(), 151u);
}

TEST_F(JournalTest, ReadersBesideRemovalsSeeEveryEventOnceOrAGap) {
  const auto journal = Open();
  constexpr uint64_t kEvents = 6000;
  std::thread writer([&] {
    for (uint64_t i = 1; i <= kEvents; ++i) {
      AppendDelta(*journal, std::string(50, 'x'));
      if (i % 500 != 0) continue;
      EXPECT_TRUE(journal->RemoveThrough(i - 100, kRetention).ok());
    }
  });
  Follower follower(journal, 0);
  for (uint64_t seen = 0; seen < kEvents;) {
    const Result<std::vector<Encoded>> next = follower.Next(64);
    ASSERT_TRUE(next.ok()) << next.status().ToString();
    for (const Encoded& encoded : *next) {
      const Event event = Parsed(encoded);
      if (event.has_events_removed()) {
        ASSERT_GT(event.sequence(), seen);
      } else {
        ASSERT_EQ(event.sequence(), seen + 1);
      }
      seen = event.sequence();
    }
  }
  writer.join();
}

TEST_F(JournalTest, NothingIsKeptForAFollowerThatHasGone) {
  const auto journal = Open();
  {
    Follower follower(journal, 0);
    AppendDelta(*journal, "a");
  }
  std::filesystem::resize_file(path_, 0);
  EXPECT_FALSE(Follower(journal, 0).Next(1).ok());
}

TEST_F(JournalTest, TextsOfOtherProgramsBecomeValidUtf8) {
  const auto journal = Open();
  Follower follower(journal, 0);
  AppendDelta(*journal, "a\xFF");
  EXPECT_EQ(Parsed(follower.Next(1)->at(0)).agent_message_delta().delta(), "a\xEF\xBF\xBD");
  EXPECT_EQ(journal->ReadAfter(0, 1)->at(0).agent_message_delta().delta(), "a\xEF\xBF\xBD");
}

TEST(JournalStoreTest, GivesOneJournalPerSessionAndRemovesIt) {
  fakes::TemporaryDirectory directory;
  fakes::FakeClock clock;
  fakes::FakeIds ids;
  JournalStore store(directory.path(), {&clock, &ids});
  Result<std::shared_ptr<Journal>> first = store.Get(kSession);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(*first, *store.Get(kSession));
  EXPECT_TRUE(store.Remove(kSession).ok());
  EXPECT_TRUE((*first)->closed());
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
  EXPECT_TRUE(store.Remove(kSession).ok());
}

}  // namespace
}  // namespace odyssey::event
