#include "common/audit/chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/sha256.h"

namespace odyssey::audit {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kFile[] = "audit-1";

// Lines 1 to n; `position` ends at the last.
std::vector<std::string> MakeLog(int n, Position* position) {
  std::vector<std::string> lines;
  for (int i = 0; i < n; ++i) {
    lines.push_back(EncodeLine(Record("exec").Number("n", i), Time(), position));
  }
  return lines;
}

std::vector<std::string> MakeLog(int n) {
  Position position;
  return MakeLog(n, &position);
}

Position HeadOf(const std::vector<std::string>& lines) {
  const Result<Line> last = ParseLine(lines.back());
  return {last->seq, std::string(last->hash)};
}

Chain Check(const std::vector<std::string>& lines, Result<Position> head, Position after = {}) {
  Chain chain(std::move(after), std::move(head));
  chain.BeginFile(kFile, lines.empty() || !ParseLine(lines[0]).ok() ? 1 : ParseLine(lines[0])->seq);
  for (const std::string& line : lines) chain.Add(line);
  chain.Finish();
  return chain;
}

std::vector<std::string> Problems(const Chain& chain) {
  std::vector<std::string> out;
  for (const Problem& problem : chain.problems()) {
    out.push_back(std::to_string(problem.line) + "/" + std::to_string(problem.seq) + " " +
                  problem.what);
  }
  return out;
}

TEST(ChainTest, WholeLogHasNoProblem) {
  const auto log = MakeLog(5);
  const Chain chain = Check(log, HeadOf(log));
  EXPECT_THAT(Problems(chain), IsEmpty());
  EXPECT_EQ(chain.records(), 5u);
  EXPECT_EQ(chain.first_seq(), 1u);
  EXPECT_EQ(chain.last(), HeadOf(log));
}

TEST(ChainTest, EmptyLogIsWhole) { EXPECT_THAT(Problems(Check({}, Position{})), IsEmpty()); }

TEST(ChainTest, RecordsAfterTheHeadAreThere) {
  const auto log = MakeLog(5);
  EXPECT_THAT(Problems(Check(log, HeadOf({log[2]}))), IsEmpty());
}

TEST(ChainTest, ChangedRecordIsFound) {
  auto log = MakeLog(5);
  log[2].replace(log[2].find("\"n\":2"), 5, "\"n\":9");
  EXPECT_THAT(Problems(Check(log, HeadOf(log))),
              ElementsAre("3/3 changed: its hash does not match its text"));
}

// The one who changes a record and computes its hash anew breaks the next one's `prev`.
TEST(ChainTest, ChangedRecordWithANewHashIsFound) {
  auto log = MakeLog(5);
  Position position = HeadOf({log[1]});
  log[2] = EncodeLine(Record("exec").Number("n", 9), Time(), &position);
  EXPECT_THAT(Problems(Check(log, HeadOf(log))),
              ElementsAre("4/4 the record before it is not the one that it was written after"));
}

// … and if it is the last one, the head.
TEST(ChainTest, ChangedLastRecordWithANewHashIsFound) {
  auto log = MakeLog(5);
  const Position head = HeadOf(log);
  Position position = HeadOf({log[3]});
  log[4] = EncodeLine(Record("exec").Number("n", 9), Time(), &position);
  EXPECT_THAT(Problems(Check(log, head)),
              ElementsAre("5/5 it is not the record that the file head names"));
}

TEST(ChainTest, RemovedRecordIsFound) {
  auto log = MakeLog(5);
  const Position head = HeadOf(log);
  log.erase(log.begin() + 2);
  EXPECT_THAT(Problems(Check(log, head)), ElementsAre("3/4 before it, record 3 is missing"));
}

TEST(ChainTest, RemovedFirstRecordsAreFound) {
  auto log = MakeLog(5);
  const Position head = HeadOf(log);
  log.erase(log.begin(), log.begin() + 2);
  EXPECT_THAT(Problems(Check(log, head)), ElementsAre("1/3 before it, records 1 to 2 are missing"));
}

TEST(ChainTest, InsertedRecordIsFound) {
  auto log = MakeLog(5);
  const Position head = HeadOf(log);
  Position position = HeadOf({log[1]});
  log.insert(log.begin() + 2, EncodeLine(Record("grant"), Time(), &position));
  EXPECT_THAT(Problems(Check(log, head)), ElementsAre("4/3 out of place: record 4 belongs here"));
}

TEST(ChainTest, ReorderedRecordsAreFound) {
  auto log = MakeLog(5);
  const Position head = HeadOf(log);
  std::swap(log[1], log[2]);
  EXPECT_EQ(Check(log, head).problem_count(), 3u);
}

TEST(ChainTest, TruncatedLogIsFound) {
  auto log = MakeLog(5);
  const Position head = HeadOf(log);
  log.resize(3);
  EXPECT_THAT(Problems(Check(log, head)),
              ElementsAre("0/5 at the end, records 4 to 5 are missing"));
  EXPECT_THAT(Problems(Check({}, head)), ElementsAre("0/5 at the end, records 1 to 5 are missing"));
}

TEST(ChainTest, UnreadableHeadIsAProblem) {
  const auto log = MakeLog(1);
  EXPECT_THAT(Problems(Check(log, NotFound("open head: No such file or directory"))),
              ElementsAre(HasSubstr("records at the end may be missing")));
}

// A log that somebody wrote anew from its beginning is one log: only what is known from elsewhere
// tells it from the true one.
TEST(ChainTest, KnownRecordTellsAForgedLog) {
  const auto log = MakeLog(5);
  Position position;
  std::vector<std::string> forged;
  for (int i = 0; i < 5; ++i) forged.push_back(EncodeLine(Record("stop"), Time(), &position));
  EXPECT_THAT(Problems(Check(forged, position)), IsEmpty());
  EXPECT_THAT(Problems(Check(forged, position, HeadOf({log[2]}))),
              ElementsAre("3/3 it is not the record given as known"));
  EXPECT_THAT(Problems(Check(log, HeadOf(log), HeadOf({log[2]}))), IsEmpty());
}

TEST(ChainTest, RecordsBeforeTheKnownOneMayBeGone) {
  auto log = MakeLog(5);
  const Position known = HeadOf({log[2]});
  const Position head = HeadOf(log);
  log.erase(log.begin(), log.begin() + 3);
  EXPECT_THAT(Problems(Check(log, head, known)), IsEmpty());
  EXPECT_THAT(Problems(Check(log, head, {3, Sha256Hex("another")})),
              ElementsAre("1/4 it does not go on from the record given as known"));
  log.erase(log.begin());
  EXPECT_THAT(Problems(Check(log, head, known)), ElementsAre("1/5 before it, record 4 is missing"));
}

TEST(ChainTest, LogThatEndsBeforeTheKnownRecordIsFound) {
  auto log = MakeLog(5);
  const Position known = HeadOf(log);
  log.resize(3);
  EXPECT_THAT(Problems(Check(log, HeadOf(log), known)),
              ElementsAre("0/5 the log ends before the record given as known"));
}

std::string Torn(const std::string& garbage, Position* position) {
  return EncodeLine(Record(kTornType).Text("sha256", Sha256Hex(garbage + "\n")), Time(), position);
}

TEST(ChainTest, TornRecordVouchesForWhatACrashLeft) {
  Position position;
  auto log = MakeLog(2, &position);
  log.push_back("{\"seq\":3,\"ti");
  log.push_back(Torn(log[2], &position));
  const Chain chain = Check(log, HeadOf(log));
  EXPECT_THAT(Problems(chain), IsEmpty());
  EXPECT_EQ(chain.torn(), 1u);
}

TEST(ChainTest, TornRecordVouchesForNothingElse) {
  Position position;
  auto log = MakeLog(2, &position);
  log.push_back("another");
  log.push_back(Torn("{\"seq\":3,\"ti", &position));
  EXPECT_THAT(Problems(Check(log, position)), ElementsAre("3/0 not a record of this log"));
}

TEST(ChainTest, LinesThatAreNoRecordsAreFound) {
  auto log = MakeLog(3);
  const Position head = HeadOf(log);
  log.insert(log.begin() + 1, {"# comment", ""});
  log.push_back("trailing");
  EXPECT_THAT(Problems(Check(log, head)),
              ElementsAre("2/0 not a record of this log", "3/0 not a record of this log",
                          "6/0 not a record of this log"));
}

TEST(ChainTest, MissingRecordIsToldForever) {
  Position position;
  auto log = MakeLog(2, &position);
  log.push_back(EncodeLine(Record(kMissingType).Number("head_seq", 9), Time(), &position));
  EXPECT_THAT(Problems(Check(log, position)), ElementsAre(HasSubstr("found records missing")));
}

TEST(ChainTest, UnfinishedLineIsAProblemOnlyBeforeTheLastFile) {
  Position position;
  const auto log = MakeLog(2, &position);
  Chain chain(Position{}, position);
  chain.BeginFile("a", 1);
  chain.Add(log[0]);
  chain.Unfinished(5);
  chain.BeginFile("b", 2);
  chain.Add(log[1]);
  chain.Unfinished(5);
  chain.Finish();
  EXPECT_THAT(chain.problems(), ElementsAre(Problem{"a", 2, 0, "not a record of this log"}));
}

TEST(ChainTest, FileThatBeginsElsewhereIsFound) {
  Position position;
  const auto log = MakeLog(2, &position);
  Chain chain(Position{}, position);
  chain.BeginFile("a", 1);
  chain.Add(log[0]);
  chain.BeginFile("b", 3);
  chain.Add(log[1]);
  chain.Finish();
  EXPECT_THAT(chain.problems(),
              ElementsAre(Problem{"b", 1, 2, "the file's name says that it begins with record 3"}));
}

TEST(ChainTest, ProblemsAreCountedBeyondWhatIsKept) {
  Chain chain(Position{}, Position{});
  chain.BeginFile("a", 1);
  for (int i = 0; i < 1000; ++i) chain.Add("x");
  chain.Finish();
  EXPECT_EQ(chain.problems().size(), Chain::kMaxProblems);
  EXPECT_EQ(chain.problem_count(), 1000u);
}

}  // namespace
}  // namespace odyssey::audit
