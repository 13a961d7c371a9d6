#include "agentd/session/turn_log.h"

#include <gtest/gtest.h>

#include "common/os/file.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey::session {
namespace {

TurnRecord Turn(const std::string& id, TurnStatus status, bool announced) {
  TurnRecord out;
  out.id = id;
  out.status = status;
  out.created_at = "t";
  out.prompt = "p";
  out.announced = announced;
  return out;
}

TEST(TurnLogTest, TheLastLineOfATurnCountsAndRemovedTurnsAreGone) {
  const std::vector<TurnRecord> first = {Turn("a", TurnStatus::kQueued, false),
                                         Turn("b", TurnStatus::kQueued, false)};
  const std::vector<TurnRecord> second = {Turn("b", TurnStatus::kRunning, false),
                                          Turn("c", TurnStatus::kQueued, false)};
  const std::string text = EncodeTurnChanges({}, first) + EncodeTurnChanges(first, second);
  EXPECT_EQ(DecodeTurns(text).turns, second);
  EXPECT_EQ(DecodeTurns(text).bad_lines, 0u);
  EXPECT_EQ(EncodeTurnChanges(second, second), "");
}

TEST(TurnLogTest, TheSummaryIsOfTheLastLineHoweverLong) {
  const fakes::TemporaryDirectory directory;
  const std::string path = directory.path() + "/x.turns";
  EXPECT_EQ(*ReadTurnSummary(path), TurnSummary());
  TurnRecord done = Turn("a", TurnStatus::kCompleted, true);
  done.history = {{model::MessageKind::kUser, std::string(200'000, 'x'), {}}};
  const std::vector<TurnRecord> turns = {Turn("b", TurnStatus::kFailed, false), done};
  ASSERT_TRUE(
      AppendTurnLines(path, EncodeTurnChanges({}, turns), event::Durability::kBatched).ok());
  EXPECT_EQ(*ReadTurnSummary(path), (TurnSummary{1, 1}));
}

TEST(TurnLogTest, ATornLineIsReportedAndCutOffByTheNextAppend) {
  const fakes::TemporaryDirectory directory;
  const std::string path = directory.path() + "/x.turns";
  const std::vector<TurnRecord> one = {Turn("a", TurnStatus::kCompleted, true)};
  const std::string line = EncodeTurnChanges({}, one);
  directory.Write("x.turns", line + line.substr(0, line.size() / 2));
  EXPECT_EQ(ReadTurnSummary(path).status().code(), Code::kDataLoss);
  ASSERT_TRUE(AppendTurnLines(path, line, event::Durability::kSynced).ok());
  EXPECT_EQ(*ReadFile(path, 1 << 20), line + line);
}

}  // namespace
}  // namespace odyssey::session
