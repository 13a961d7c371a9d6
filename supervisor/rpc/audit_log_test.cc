#include "supervisor/rpc/audit_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/audit/chain.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey::supervisor {
namespace {

using audit::Record;
using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class AuditLogTest : public ::testing::Test {
 protected:
  std::unique_ptr<AuditLog> Open() {
    return std::make_unique<AuditLog>(
        *audit::LogStore::Open(*audit::OpenLogDirectory(directory_.path())),
        [this] { return now_; });
  }

  std::string File() const { return directory_.path() + "/" + audit::LogFileName(1); }

  std::vector<std::string> Lines() const {
    std::vector<std::string> lines;
    std::ifstream in(File());
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }

  // The whole log, which is without a fault.
  std::vector<std::string> WholeLog() const {
    const auto chain = audit::Verify(audit::OpenLogDirectory(directory_.path())->get(), {});
    EXPECT_TRUE(chain.ok());
    EXPECT_EQ(chain->problem_count(), 0u);
    return Lines();
  }

  const fakes::TemporaryDirectory directory_;
  audit::Time now_{std::chrono::milliseconds(1'795'308'696'007)};
};

TEST_F(AuditLogTest, RecordsAreWrittenInOrderAndTheHeadFollows) {
  const auto log = Open();
  for (int i = 0; i < 1000; ++i) log->Add(Record("exec").Number("n", i));
  ASSERT_TRUE(log->Flush().ok());
  const auto lines = WholeLog();
  ASSERT_THAT(lines, SizeIs(1000));
  for (int i = 0; i < 1000; ++i) {
    EXPECT_THAT(lines[static_cast<size_t>(i)], HasSubstr("\"n\":" + std::to_string(i) + ","));
  }
  const auto head = audit::ReadHead(audit::OpenLogDirectory(directory_.path())->get());
  EXPECT_EQ(head->seq, 1000u);
}

TEST_F(AuditLogTest, EndWritesWhatIsLeft) {
  Open()->Add(Record("stop"));
  EXPECT_THAT(WholeLog(), SizeIs(1));
}

TEST_F(AuditLogTest, ManyThreadsWriteOneChain) {
  const auto log = Open();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) log->Add(Record("exec").Number("n", i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(log->Flush().ok());
  EXPECT_THAT(WholeLog(), SizeIs(800));
}

TEST_F(AuditLogTest, StormBecomesItsFirstRecordsAndACount) {
  const auto log = Open();
  constexpr int kStorm = 10'000;
  for (int i = 0; i < kStorm; ++i) log->AddLimited(Record("deny").Number("n", i), "cel_1");
  log->AddLimited(Record("deny").Text("cell", "cel_2"), "cel_2");
  ASSERT_TRUE(log->Flush().ok());
  const auto lines = WholeLog();
  ASSERT_THAT(lines, SizeIs(audit::RateLimit::kPerInterval + 2));
  EXPECT_THAT(lines.back(), HasSubstr("\"type\":\"suppressed\",\"of\":\"deny\",\"about\":\"cel_1\","
                                      "\"count\":" +
                                      std::to_string(kStorm - audit::RateLimit::kPerInterval)));
}

// By what sent the records, which had a limit of its own.
TEST_F(AuditLogTest, CountsOfASourceAreAddedToItsOwn) {
  const auto log = Open();
  const int storm = static_cast<int>(audit::RateLimit::kPerInterval) + 5;
  for (int i = 0; i < storm; ++i) log->AddLimited(Record("egress").Number("n", i), "cel_1");
  log->AddSuppressed("egress", "cel_1", 1000);
  ASSERT_TRUE(log->Flush().ok());
  EXPECT_THAT(WholeLog().back(), HasSubstr("\"of\":\"egress\",\"about\":\"cel_1\",\"count\":1005"));
}

TEST_F(AuditLogTest, WhatACrashLeftIsToldFirst) {
  Open()->Add(Record("start"));
  std::ofstream(File(), std::ios::app) << "{\"seq\":2,\"ti";
  Open()->Add(Record("start"));
  const auto lines = WholeLog();
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_THAT(lines[2], HasSubstr("\"type\":\"torn\""));
  EXPECT_THAT(lines[3], HasSubstr("\"type\":\"start\""));
}

// RLIMIT_FSIZE stands for a full disk.
void LimitFileSize(rlim_t bytes) {
  signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{bytes, RLIM_INFINITY};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

TEST_F(AuditLogTest, NothingIsAdmittedWhileTheLogCannotBeWritten) {
  const auto log = Open();
  log->Add(Record("start"));
  ASSERT_TRUE(log->Flush().ok());
  EXPECT_TRUE(log->Admit().ok());

  LimitFileSize(std::filesystem::file_size(File()) + 10);
  log->Add(Record("exec"));
  EXPECT_FALSE(log->Flush().ok());
  const Status refused = log->Admit();
  EXPECT_EQ(refused.code(), Code::kResourceExhausted);
  EXPECT_THAT(refused.message(), HasSubstr("audit log: write: File too large to audit-"));
  log->Add(Record("exec_end"));

  LimitFileSize(RLIM_INFINITY);
  EXPECT_TRUE(log->Admit().ok()) << "the first who asks when there is room again";
  ASSERT_TRUE(log->Flush().ok());
  const auto lines = WholeLog();
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_THAT(lines[1], HasSubstr("\"type\":\"exec\""));
  EXPECT_THAT(lines[2], HasSubstr("\"type\":\"exec_end\""));
  EXPECT_THAT(lines[3], HasSubstr("\"type\":\"resumed\""));
  EXPECT_THAT(lines[3], HasSubstr("\"refused\":1"));
}

TEST_F(AuditLogTest, NothingIsAdmittedWhileTheLogIsTooFarBehindAndWhatFindsNoRoomIsCounted) {
  const auto log = Open();
  log->Add(Record("start"));
  ASSERT_TRUE(log->Flush().ok());
  LimitFileSize(0);
  log->Add(Record("exec"));
  EXPECT_FALSE(log->Flush().ok());
  constexpr size_t kRecords = AuditLog::kMaxRecords + 1000;
  for (size_t i = 0; i < kRecords; ++i) log->Add(Record("exec_end"));
  EXPECT_FALSE(log->Admit().ok());
  LimitFileSize(RLIM_INFINITY);
  ASSERT_TRUE(log->Flush().ok());
  ASSERT_TRUE(log->Flush().ok());
  size_t written = 0;
  size_t counted = 0;
  for (const std::string& line : WholeLog()) {
    const Json json = Json::parse(line);
    if (json["type"] == "exec_end") ++written;
    if (json["type"] == "suppressed" && json["of"] == "exec_end") {
      EXPECT_EQ(json["about"], "no room");
      counted += json["count"].get<size_t>();
    }
  }
  EXPECT_GT(counted, 0u);
  EXPECT_EQ(written + counted, kRecords);
}

}  // namespace
}  // namespace odyssey::supervisor
