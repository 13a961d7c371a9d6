#include "common/audit/log_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "tests/fakes/temporary_directory.h"

namespace odyssey::audit {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// RLIMIT_FSIZE stands for a full disk: write(2) takes a part, then fails.
class FileSizeLimit final {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

class LogStoreTest : public ::testing::Test {
 protected:
  LogStore Open(Retention retention = {}) {
    Result<LogStore> store = LogStore::Open(*OpenLogDirectory(directory_.path()), retention);
    EXPECT_TRUE(store.ok()) << store.status().message();
    return std::move(*store);
  }

  // As the writer does: findings first.
  LogStore OpenAndTell() {
    LogStore store = Open();
    for (const Record& finding : store.TakeFindings()) Append(&store, finding);
    EXPECT_TRUE(store.SaveHead().ok());
    return store;
  }

  static void Append(LogStore* store, const Record& record, Time time = {}) {
    const Status status = store->Append({{record, time}});
    EXPECT_TRUE(status.ok()) << status.message();
  }

  // A log of `n` records, its head saved.
  void MakeLog(int n) {
    LogStore store = Open();
    for (int i = 0; i < n; ++i) Append(&store, Record("exec").Number("n", i));
    EXPECT_TRUE(store.SaveHead().ok());
  }

  std::string Path(const std::string& name) const { return directory_.path() + "/" + name; }
  std::string FirstFile() const { return Path(LogFileName(1)); }

  static std::string Read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void Write(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  std::vector<std::string> Problems(const Position& after = {}) {
    const Result<Chain> chain = Verify(OpenLogDirectory(directory_.path())->get(), after);
    EXPECT_TRUE(chain.ok()) << chain.status().message();
    std::vector<std::string> out;
    for (const Problem& problem : chain->problems()) out.push_back(problem.what);
    torn_ = chain->torn();
    records_ = chain->records();
    first_ = chain->first_seq();
    rotated_ = chain->rotated();
    return out;
  }

  std::vector<LogFile> Files() { return *ListLogFiles(OpenLogDirectory(directory_.path())->get()); }

  // A log of which rotation has removed the beginning.
  void MakeRotatedLog() {
    LogStore store = Open({.file_bytes = 1000, .keep_bytes = 4000});
    for (int i = 0; i < 60; ++i) Append(&store, Record("exec").Number("n", i));
    EXPECT_TRUE(store.SaveHead().ok());
  }

  const fakes::TemporaryDirectory directory_;
  uint64_t torn_ = 0;
  uint64_t records_ = 0;
  uint64_t first_ = 0;
  Position rotated_;
};

TEST_F(LogStoreTest, ChainGoesOnOverReopening) {
  MakeLog(3);
  LogStore store = Open();
  EXPECT_THAT(store.TakeFindings(), IsEmpty());
  EXPECT_EQ(store.last().seq, 3u);
  Append(&store, Record("exec"));
  ASSERT_TRUE(store.SaveHead().ok());
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_EQ(records_, 4u);
}

TEST_F(LogStoreTest, NextWriterWaitsForTheEndOfTheOneBefore) {
  std::optional<LogStore> store(Open());
  std::thread next([this] { EXPECT_EQ(Open().last().seq, 1u); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // it would have read the log by now
  Append(&*store, Record("stop"));
  store.reset();
  next.join();
}

TEST_F(LogStoreTest, FilesAreNobodyElsesToRead) {
  MakeLog(1);
  for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
    EXPECT_EQ(entry.status().permissions(), std::filesystem::perms(0600)) << entry.path();
  }
}

TEST_F(LogStoreTest, ChainGoesOnOverFiles) {
  LogStore store = Open({.file_bytes = 500});
  for (int i = 0; i < 10; ++i) Append(&store, Record("exec").Number("n", i));
  ASSERT_TRUE(store.SaveHead().ok());
  const auto files = ListLogFiles(OpenLogDirectory(directory_.path())->get());
  EXPECT_THAT(*files, SizeIs(::testing::Gt(2u)));
  EXPECT_THAT(Problems(), IsEmpty());
  const Position last = store.last();
  { const LogStore closed = std::move(store); }
  EXPECT_EQ(Open({.file_bytes = 500}).last(), last);

  std::filesystem::remove(Path((*files)[1].name));
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("missing")));
}

TEST_F(LogStoreTest, RotationRemovesTheOldestFilesAndSaysSo) {
  MakeRotatedLog();
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_GT(first_, 10u);
  EXPECT_EQ(rotated_.seq, first_ - 1);
  uint64_t bytes = 0;
  for (const LogFile& file : Files()) bytes += std::filesystem::file_size(Path(file.name));
  EXPECT_LE(bytes, 4000u + 1000u);
  EXPECT_GE(Files().size(), 3u);
}

TEST_F(LogStoreTest, NothingIsRemovedByDefault) {
  LogStore store = Open({.file_bytes = 1000});
  for (int i = 0; i < 60; ++i) Append(&store, Record("exec"));
  EXPECT_EQ(Files().front().first_seq, 1u);
  EXPECT_GT(Files().size(), 5u);
}

TEST_F(LogStoreTest, LessToKeepTakesEffectAtTheNextRecord) {
  {
    LogStore store = Open({.file_bytes = 1000});
    for (int i = 0; i < 60; ++i) Append(&store, Record("exec"));
  }
  LogStore store = Open({.file_bytes = 1000, .keep_bytes = 3000});
  EXPECT_EQ(Files().front().first_seq, 1u);
  Append(&store, Record("start"));
  EXPECT_GT(Files().front().first_seq, 1u);
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(LogStoreTest, RotationByAgeKeepsADaysFilesWithinTheAge) {
  using std::chrono::hours;
  {
    LogStore store = Open(KeepAbout(0, hours(24 * 10)));
    for (int hour = 0; hour < 24 * 30; hour += 6) {
      Append(&store, Record("exec").Number("hour", hour), Time(hours(hour)));
    }
    ASSERT_TRUE(store.SaveHead().ok());
  }
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_EQ(rotated_.seq, first_ - 1);
  EXPECT_THAT(Files(), SizeIs(12));  // of ten days, the one before, and the one being written
  EXPECT_THAT(Read(Path(Files().front().name)), HasSubstr("\"hour\":432,"));
  // One that was closed for a month begins a file, and knows how old the last one is.
  LogStore store = Open(KeepAbout(0, hours(24 * 10)));
  Append(&store, Record("start"), Time(hours(24 * 60)));
  EXPECT_THAT(Files(), SizeIs(2));  // the newest two stay
  ASSERT_TRUE(store.SaveHead().ok());
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(LogStoreTest, BytesAndAgeBothBoundTheLog) {
  using std::chrono::hours;
  LogStore store = Open({.file_bytes = 1000, .keep_bytes = 4000, .keep_age = hours(24 * 10)});
  for (int i = 0; i < 60; ++i) Append(&store, Record("exec"), Time(hours(24)));
  EXPECT_GT(Files().size(), 3u);
  EXPECT_GT(Files().front().first_seq, 1u);
  for (const int day : {12, 23}) {
    for (int i = 0; i < 10; ++i) Append(&store, Record("exec"), Time(hours(24 * day)));
  }
  EXPECT_THAT(Read(Path(Files().front().name)), HasSubstr("\"time\":\"1970-01-24"));
  ASSERT_TRUE(store.SaveHead().ok());
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(LogStoreTest, MoreRemovedThanRotationDidIsAProblem) {
  MakeRotatedLog();
  std::filesystem::remove(Path(Files().front().name));
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("missing; rotation removed those up to record")));
}

// What a kill between two removals leaves: the record is there, and so are files it speaks of.
TEST_F(LogStoreTest, RotationThatStoppedHalfwayIsNoProblem) {
  {
    LogStore store = Open({.file_bytes = 1000});
    for (int i = 0; i < 60; ++i) Append(&store, Record("exec"));
  }
  const std::string second = Files()[1].name;
  std::filesystem::copy_file(Path(second), Path("copy"));
  {
    LogStore store = Open({.file_bytes = 1000, .keep_bytes = 3000});
    Append(&store, Record("start"));
    ASSERT_TRUE(store.SaveHead().ok());
  }
  const std::vector<LogFile> files = Files();
  ASSERT_NE(files.front().name, second);
  // A gap behind it is one all the same: rotation removes the oldest files first.
  std::filesystem::rename(Path("copy"), Path(second));
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("missing")));
  EXPECT_EQ(first_, FirstSeqOf(second));
}

TEST_F(LogStoreTest, RotatedBeginningThatWasReplacedIsAProblem) {
  MakeRotatedLog();
  const std::string oldest = Path(Files().front().name);
  std::string text = Read(oldest);
  const size_t prev = text.find("\"prev\":\"") + 8;
  text[prev] = text[prev] == '0' ? '1' : '0';
  Write(oldest, text);
  EXPECT_THAT(Problems(), ::testing::Contains(HasSubstr("the last record that rotation removed")));
}

TEST_F(LogStoreTest, KnownRecordIsNotTakenOnRotationsWord) {
  MakeRotatedLog();
  EXPECT_THAT(Problems({.seq = 3, .hash = std::string(kHashDigits, 'a')}),
              ElementsAre(HasSubstr("nothing ties it to the record given as known")));
}

// Nothing goes before the record of it is durable.
TEST_F(LogStoreTest, NothingIsRemovedThatCannotBeRecorded) {
  {
    LogStore store = Open({.file_bytes = 1000});
    for (int i = 0; i < 60; ++i) Append(&store, Record("exec"));
  }
  LogStore store = Open({.file_bytes = 1 << 20, .keep_bytes = 2000});
  const std::vector<LogFile> before = Files();
  {
    const FileSizeLimit limit(std::filesystem::file_size(Path(before.back().name)) + 50);
    EXPECT_FALSE(store.Append({{Record("exec"), Time()}}).ok());
    EXPECT_EQ(Files(), before);
  }
  std::filesystem::create_directory(Path("head.new"));  // head cannot be replaced
  Append(&store, Record("exec"));
  EXPECT_EQ(Files(), before);
  EXPECT_THAT(Read(Path(before.back().name)), HasSubstr("\"type\":\"rotated\""));
}

TEST_F(LogStoreTest, TornRecordIsToldAndKept) {
  MakeLog(3);
  Write(FirstFile(), Read(FirstFile()) + "{\"seq\":4,\"time\":\"2026");
  EXPECT_THAT(Problems(), IsEmpty()) << "a record may be being written";
  {
    LogStore store = Open();
    EXPECT_EQ(store.last().seq, 3u);
    EXPECT_THAT(store.TakeFindings(), ElementsAre(::testing::Property(&Record::type, "torn")));
  }
  OpenAndTell();
  EXPECT_THAT(Read(FirstFile()), HasSubstr("\n{\"seq\":4,\"time\":\"2026\n{\"seq\":4,"));
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_EQ(torn_, 1u);
}

// Without its `torn` record the same bytes are a problem: nothing is mended in silence.
TEST_F(LogStoreTest, TornRecordThatNobodyTellsIsAProblem) {
  MakeLog(3);
  Write(FirstFile(), Read(FirstFile()) + "{\"seq\":4,\"time\":\"2026");
  LogStore store = Open();
  Append(&store, Record("exec"));
  EXPECT_THAT(Problems(), ElementsAre("not a record of this log"));
}

TEST_F(LogStoreTest, CrashWhileATornRecordIsToldIsToldToo) {
  MakeLog(3);
  Write(FirstFile(), Read(FirstFile()) + "{\"seq\":4,\"ti\n{\"seq\":4,\"time\":\"20");
  OpenAndTell();
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_EQ(torn_, 1u);
}

TEST_F(LogStoreTest, CrashAtTheBeginningOfAFileIsTold) {
  MakeLog(3);
  Write(Path(LogFileName(4)), "{\"seq\":4");
  OpenAndTell();
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_EQ(torn_, 1u);
  EXPECT_EQ(records_, 4u);
}

TEST_F(LogStoreTest, CrashBeforeTheFirstRecordOfAFileLeavesNothingToTell) {
  MakeLog(3);
  Write(Path(LogFileName(4)), "");
  OpenAndTell();
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_EQ(torn_, 0u);
}

TEST_F(LogStoreTest, ShortenedLogIsToldForGood) {
  MakeLog(5);
  const std::string whole = Read(FirstFile());
  Write(FirstFile(), whole.substr(0, whole.find("{\"seq\":4,")));
  OpenAndTell();
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("found records missing")));
  EXPECT_THAT(Read(FirstFile()), HasSubstr("\"last_seq\":3,\"head_seq\":5"));
}

TEST_F(LogStoreTest, LogWithoutItsHeadIsTold) {
  MakeLog(5);
  std::filesystem::remove(Path(kHeadName));
  OpenAndTell();
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("found records missing")));
}

TEST_F(LogStoreTest, HeadWithoutItsLogIsTold) {
  MakeLog(5);
  std::filesystem::remove(FirstFile());
  OpenAndTell();
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("found records missing")));
}

TEST_F(LogStoreTest, EndThatCannotBeUnderstoodIsAnError) {
  MakeLog(1);
  Write(FirstFile(), Read(FirstFile()) + std::string(3 * kMaxLine, 'x'));
  const Result<LogStore> store = LogStore::Open(*OpenLogDirectory(directory_.path()));
  EXPECT_EQ(store.status().code(), Code::kDataLoss);
  EXPECT_THAT(store.status().message(), HasSubstr("move the log away"));
}

TEST_F(LogStoreTest, FileOfAnotherPlaceIsAnError) {
  MakeLog(3);
  Write(Path(LogFileName(9)), "");
  EXPECT_EQ(LogStore::Open(*OpenLogDirectory(directory_.path())).status().code(), Code::kDataLoss);
}

TEST_F(LogStoreTest, LinkInPlaceOfAFileIsNotFollowed) {
  MakeLog(1);
  std::filesystem::rename(FirstFile(), Path("elsewhere"));
  std::filesystem::create_symlink("elsewhere", FirstFile());
  EXPECT_FALSE(LogStore::Open(*OpenLogDirectory(directory_.path())).ok());
}

TEST_F(LogStoreTest, FailedWriteLeavesNothing) {
  MakeLog(3);
  LogStore store = Open();
  const std::string before = Read(FirstFile());
  const Position last = store.last();
  {
    const FileSizeLimit limit(before.size() + 50);
    const Status status = store.Append({{Record("exec"), Time()}});
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(status.message(), HasSubstr(LogFileName(1)));
    EXPECT_EQ(Read(FirstFile()), before);
    EXPECT_EQ(store.last(), last);
  }
  Append(&store, Record("exec"));
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_EQ(records_, 4u);
}

TEST_F(LogStoreTest, ReaderFollowsAFileThatGrows) {
  LogStore store = Open();
  Append(&store, Record("exec"));
  const UniqueFd directory = *OpenLogDirectory(directory_.path());
  Result<LineReader> reader = LineReader::Open(directory.get(), LogFileName(1));
  ASSERT_TRUE(reader.ok());
  EXPECT_THAT(**reader->Next(), HasSubstr("\"seq\":1,"));
  EXPECT_FALSE(reader->Next()->has_value());
  Append(&store, Record("exec"));
  EXPECT_THAT(**reader->Next(), HasSubstr("\"seq\":2,"));
}

TEST_F(LogStoreTest, NobodyWaitsForAFifoInPlaceOfAFile) {
  ASSERT_EQ(mkfifo(FirstFile().c_str(), 0600), 0);
  const UniqueFd directory = *OpenLogDirectory(directory_.path());
  EXPECT_THAT(LineReader::Open(directory.get(), LogFileName(1)).status().message(),
              HasSubstr("no regular file"));
  EXPECT_FALSE(Verify(directory.get(), {}).ok());
}

TEST(LogDirectoryTest, NamesOfLogFiles) {
  EXPECT_EQ(LogFileName(7), "audit-00000000000000000007.jsonl");
  EXPECT_EQ(FirstSeqOf(LogFileName(7)), 7u);
  EXPECT_EQ(FirstSeqOf(LogFileName(~uint64_t{0})), ~uint64_t{0});
  for (const char* name :
       {"head", "audit-7.jsonl", "audit-0000000000000000000x.jsonl",
        "audit-00000000000000000000.jsonl", "audit-00000000000000000007.jsonl~"}) {
    EXPECT_EQ(FirstSeqOf(name), 0u) << name;
  }
}

}  // namespace
}  // namespace odyssey::audit
