#include "agentd/session/session_store.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "agentd/session/turn_log.h"
#include "common/os/file.h"
#include "tests/fakes/fake_ids.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey::session {
namespace {

SessionRecord Sample(const std::string& last_digit, const std::string& created_at) {
  SessionRecord out;
  out.id = "ses_0000000000000000000000000000000" + last_digit;
  out.bundle = {"demo", "0.1.0", std::string(64, 'a')};
  out.agent_id = "demo";
  out.model_provider = "script";
  out.model_id = "s.yaml";
  out.created_at = created_at;
  out.cwd = "/src";
  out.owner_uid = 1000;
  out.allow_danger = true;
  out.review = true;
  out.reviews = true;
  out.forked_from = "ses_00000000000000000000000000000009";
  out.env_sources = {"A", "C"};
  out.env = {{"TERM", "dumb"}};
  TurnRecord turn;
  turn.id = "trn_1";
  turn.status = TurnStatus::kCompleted;
  turn.created_at = created_at;
  turn.prompt = "create file";
  turn.response = "done";
  turn.history = {{model::MessageKind::kUser, "create file", {}},
                  {model::MessageKind::kToolUse, "", {{"tcl_1", "Write", R"({"path":"a"})"}}},
                  {model::MessageKind::kToolResult, "", {{"tcl_1", "Write", R"({"bytes":3})"}}},
                  {model::MessageKind::kAssistant, "done", {}}};
  out.turns = {turn};
  TurnRecord queued;
  queued.id = "trn_2";
  queued.created_at = created_at;
  queued.prompt = "next";
  out.turns.push_back(queued);
  out.message_count = 4;
  return out;
}

class SessionStoreTest : public ::testing::Test {
 protected:
  std::vector<SessionPtr> Load() {
    SessionStore store(directory_.path());
    warnings_.clear();
    EXPECT_TRUE(store.Load(&ids_, &warnings_).ok());
    return store.List();
  }

  fakes::TemporaryDirectory directory_;
  fakes::FakeIds ids_;
  std::vector<std::string> warnings_;
};

TEST_F(SessionStoreTest, RecordsRoundTripAndComeNewestFirst) {
  SessionStore store(directory_.path());
  const SessionRecord older = Sample("1", "2026-01-01T00:00:00.000Z");
  const SessionRecord newer = Sample("2", "2026-01-02T00:00:00.000Z");
  ASSERT_TRUE(store.Create(older).ok());
  ASSERT_TRUE(store.Create(newer).ok());
  const std::vector<SessionPtr> loaded = Load();
  ASSERT_EQ(loaded.size(), 2u);
  EXPECT_TRUE(loaded[0]->turns.empty()) << "read at the first use";
  EXPECT_EQ(loaded[0]->message_count, 4u);
  EXPECT_EQ(loaded[0]->id, newer.id);
  SessionStore again(directory_.path());
  ASSERT_TRUE(again.Load(&ids_, &warnings_).ok());
  EXPECT_EQ(**again.Get(newer.id), newer);
  EXPECT_EQ(**again.Get(older.id), older);
}

TEST_F(SessionStoreTest, ATurnIsAppendedAndTheRecordNotWrittenAgain) {
  SessionStore store(directory_.path());
  SessionRecord record = Sample("1", "t");
  ASSERT_TRUE(store.Create(record).ok());
  const std::string json = directory_.path() + "/" + record.id + ".json";
  const std::string turns = directory_.path() + "/" + record.id + ".turns";
  std::filesystem::remove(json);  // seen if it were written again
  const std::string before = *ReadFile(turns, 1 << 20);
  ASSERT_TRUE(store
                  .Update(record.id,
                          [](SessionRecord& changed) {
                            changed.turns[1].status = TurnStatus::kRunning;
                            return OkStatus();
                          })
                  .ok());
  EXPECT_FALSE(std::filesystem::exists(json));
  const std::string after = *ReadFile(turns, 1 << 20);
  EXPECT_EQ(after.substr(0, before.size()), before);
  EXPECT_GT(after.size(), before.size());
}

TEST_F(SessionStoreTest, TheTurnsOfAFileOfVersion1Move) {
  const SessionRecord record = Sample("1", "t");
  std::string text = EncodeSession(record);
  const std::string version = "\"schema_version\": 2,";
  ASSERT_NE(text.find(version), std::string::npos);
  text.replace(text.find(version), version.size(),
               "\"schema_version\": 1, \"turns\": [{\"turn_id\": \"trn_1\", \"status\": "
               "\"failed\", \"created_at\": \"t\", \"prompt\": \"p\", \"error\": \"e\", "
               "\"chat_history\": []}],");
  directory_.Write(record.id + ".json", text);
  for (int start = 0; start < 2; ++start) {
    SessionStore store(directory_.path());
    ASSERT_TRUE(store.Load(&ids_, &warnings_).ok());
    const SessionPtr loaded = *store.Get(record.id);
    ASSERT_EQ(loaded->turns.size(), 1u);
    EXPECT_EQ(loaded->turns[0].error, "e");
  }
  EXPECT_EQ(ReadFile(directory_.path() + "/" + record.id + ".json", 1 << 20)->find("trn_1"),
            std::string::npos);
}

TEST_F(SessionStoreTest, DamagedLinesAreLeftOutAndTheFileKeptAside) {
  const SessionRecord record = Sample("1", "t");
  ASSERT_TRUE(SessionStore(directory_.path()).Create(record).ok());
  const std::string turns = directory_.path() + "/" + record.id + ".turns";
  directory_.Write(record.id + ".turns", "{\"turn\": 7}\n" + *ReadFile(turns, 1 << 20) + "{\"tu");
  for (int start = 0; start < 2; ++start) {
    SessionStore store(directory_.path());
    ASSERT_TRUE(store.Load(&ids_, &warnings_).ok());
    EXPECT_EQ((*store.Get(record.id))->turns, record.turns);
  }
  size_t aside = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
    aside += entry.path().filename().string().find(".turns.corrupt-") != std::string::npos;
  }
  EXPECT_EQ(aside, 1u);
}

TEST_F(SessionStoreTest, SupersededLinesOfTurnsGoWhenTheyAreMostOfTheFile) {
  SessionStore store(directory_.path());
  SessionRecord record = Sample("1", "t");
  record.turns[0].prompt = std::string(40'000, 'x');
  record.turns[0].history[0].content = record.turns[0].prompt;
  ASSERT_TRUE(store.Create(record).ok());
  const std::string turns = directory_.path() + "/" + record.id + ".turns";
  const auto touch = [&](const std::string& error) {
    EXPECT_TRUE(store
                    .Update(record.id,
                            [&](SessionRecord& changed) {
                              changed.turns[0].error = error;
                              return OkStatus();
                            })
                    .ok());
  };
  using Compaction = SessionStore::Compaction;
  touch("one");
  EXPECT_EQ(*store.CompactTurns(record.id, Compaction::kIfWorthwhile), 0u) << "not most of it";
  const uint64_t before = std::filesystem::file_size(turns);
  touch("two");
  EXPECT_GT(*store.CompactTurns(record.id, Compaction::kIfWorthwhile), 70'000u);
  EXPECT_LT(std::filesystem::file_size(turns), before);
  touch("three");
  EXPECT_EQ(*store.CompactTurns(record.id, Compaction::kIfWorthwhile), 0u);
  EXPECT_GT(*store.CompactTurns(record.id, Compaction::kAlways), 30'000u);
  record.turns[0].error = "three";
  SessionStore again(directory_.path());
  ASSERT_TRUE(again.Load(&ids_, &warnings_).ok());
  EXPECT_EQ((*again.Get(record.id))->turns, record.turns);
}

TEST_F(SessionStoreTest, FilesOfTheOriginalAreNamedAndWhatACrashLeftIsRemoved) {
  const std::string file = directory_.Write("0f8fad5b-d9cb-469f-a165-70867728950e.json", "{");
  const std::string left = directory_.Write("ses_1.json.tmp-77", "{");
  SessionStore store(directory_.path());
  ASSERT_TRUE(store.Load(&ids_, &warnings_).ok());
  EXPECT_TRUE(warnings_.empty());
  EXPECT_EQ(store.quarantined(), std::vector<std::string>{file});
  EXPECT_FALSE(std::filesystem::exists(left));
}

TEST_F(SessionStoreTest, CorruptFilesAreSetAsideAndOthersLeftAlone) {
  ASSERT_TRUE(SessionStore(directory_.path()).Create(Sample("1", "t")).ok());
  directory_.Write("ses_00000000000000000000000000000002.json", "{\"schema_version\": 1");
  directory_.Write("ses_00000000000000000000000000000003.json", EncodeSession(Sample("1", "t")));
  directory_.Write("notes.txt", "mine");
  EXPECT_EQ(Load().size(), 1u);
  EXPECT_EQ(warnings_.size(), 2u);
  size_t aside = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
    aside += entry.path().filename().string().find(".json.corrupt_") != std::string::npos;
  }
  EXPECT_EQ(aside, 2u);
  const std::vector<std::string> named = SessionStore(directory_.path()).quarantined();
  ASSERT_EQ(named.size(), 2u);
  EXPECT_EQ(named[0].rfind(directory_.path() + "/ses_00000000000000000000000000000002.json.", 0),
            0u)
      << named[0];
  EXPECT_TRUE(std::filesystem::exists(directory_.path() + "/notes.txt"));
  EXPECT_EQ(Load().size(), 1u);
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(SessionStoreTest, UnknownSchemaIsNotGuessed) {
  EXPECT_EQ(DecodeSession(R"({"schema_version": 99})").status().message(),
            "schema_version 99; this version reads 1 to 2");
}

TEST_F(SessionStoreTest, ASessionWithoutAnOwnerIsNobodys) {
  std::string text = EncodeSession(Sample("1", "t"));
  const std::string owner = "\"owner_uid\": 1000,";
  ASSERT_NE(text.find(owner), std::string::npos);
  text.erase(text.find(owner), owner.size());
  EXPECT_EQ(DecodeSession(text)->owner_uid, kNobody);
}

TEST_F(SessionStoreTest, NobodyIsTakenToHaveAllowedDanger) {
  std::string text = EncodeSession(Sample("1", "t"));
  const std::string allowed = "\"allow_danger\": true,";
  ASSERT_NE(text.find(allowed), std::string::npos);
  text.erase(text.find(allowed), allowed.size());
  EXPECT_FALSE(DecodeSession(text)->allow_danger);
}

// The next turn of its owner brings the variables that it has had so far.
TEST_F(SessionStoreTest, ASessionOfAnOlderVersionReadsWhatItHas) {
  std::string text = EncodeSession(Sample("1", "t"));
  const size_t begin = text.find("  \"env_sources\": [");
  ASSERT_NE(begin, std::string::npos);
  text.erase(begin, text.find("],\n", begin) + 3 - begin);
  ASSERT_TRUE(DecodeSession(text).ok());
  const std::string env = "\"TERM\": \"dumb\"";
  ASSERT_NE(text.find(env), std::string::npos);
  text.replace(text.find(env), env.size(), "\"A\": \"b\"");
  EXPECT_EQ(DecodeSession(text)->env_sources, std::set<std::string>{"A"});
}

// ── Values of variables ─────────────────────────────────────────────────────────────────────────

constexpr char kValue[] = "correct-horse-battery";

TEST_F(SessionStoreTest, ValuesOfSourcesAreInMemoryOnly) {
  SessionStore store(directory_.path());
  SessionRecord record = Sample("1", "t");
  record.env_sources = {"A", "TERM"};
  record.env = {{"A", kValue}, {"TERM", kValue}, {"LANG", "C"}};
  ASSERT_TRUE(store.Create(record).ok());
  const auto again = [](SessionRecord& changed) {
    changed.cell_used = !changed.cell_used;
    return OkStatus();
  };
  ASSERT_TRUE(store.Update(record.id, again).ok());
  EXPECT_EQ((*store.Get(record.id))->env, record.env);
  for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
    EXPECT_EQ(ReadFile(entry.path(), 1 << 20)->find(kValue), std::string::npos) << entry.path();
  }
  SessionStore restarted(directory_.path());
  ASSERT_TRUE(restarted.Load(&ids_, &warnings_).ok());
  const SessionPtr loaded = *restarted.Get(record.id);
  EXPECT_EQ(loaded->env, (std::map<std::string, std::string>{{"LANG", "C"}}));
  EXPECT_EQ(loaded->env_sources, record.env_sources);
}

TEST_F(SessionStoreTest, AFileWithValuesIsWrittenWithoutThemAtLoad) {
  SessionRecord record = Sample("1", "t");
  std::string text = EncodeSession(record);
  const std::string env = "\"TERM\": \"dumb\"";
  text.replace(text.find(env), env.size(), std::string("\"A\": \"") + kValue + "\"");
  directory_.Write(record.id + ".json", text);
  ASSERT_EQ(Load().size(), 1u);
  const std::string now = *ReadFile(directory_.path() + "/" + record.id + ".json", 1 << 20);
  EXPECT_EQ(now.find(kValue), std::string::npos);
  EXPECT_NE(now.find("\"A\""), std::string::npos) << "the name stays";
}

TEST_F(SessionStoreTest, PromptAndResponseAreNotWrittenTwice) {
  const std::string text = EncodeTurnChanges({}, Sample("1", "t").turns);
  EXPECT_EQ(text.find("\"response\""), std::string::npos);
  EXPECT_EQ(text.find("\"prompt\":\"create file\""), std::string::npos);
  EXPECT_NE(text.find("\"prompt\":\"next\""), std::string::npos);
}

TEST_F(SessionStoreTest, FailedChangeWritesNothing) {
  SessionStore store(directory_.path());
  const SessionRecord record = Sample("1", "t");
  ASSERT_TRUE(store.Create(record).ok());
  EXPECT_EQ(store.Update(record.id,
                         [](SessionRecord& changed) {
                           changed.cwd = "/other";
                           return Internal("no");
                         }),
            Internal("no"));
  EXPECT_EQ(**store.Get(record.id), record);
  EXPECT_EQ(store.Update("ses_x", [](SessionRecord&) { return OkStatus(); }).code(),
            Code::kNotFound);
}

TEST_F(SessionStoreTest, RemovedSessionStaysRemoved) {
  SessionStore store(directory_.path());
  const SessionRecord record = Sample("1", "t");
  ASSERT_TRUE(store.Create(record).ok());
  EXPECT_TRUE(store.Remove(record.id).ok());
  EXPECT_EQ(store.Remove(record.id).code(), Code::kNotFound);
  EXPECT_TRUE(Load().empty());
}

}  // namespace
}  // namespace odyssey::session
