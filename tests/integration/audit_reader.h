#ifndef ODYSSEY_TESTS_INTEGRATION_AUDIT_READER_H_
#define ODYSSEY_TESTS_INTEGRATION_AUDIT_READER_H_

// The audit log of a supervisor under test, as an auditor reads it.

#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/audit/log_directory.h"
#include "common/audit/rate_limit.h"
#include "tests/testing/supervisor_harness.h"

namespace odyssey::testing {

using AuditRecord = nlohmann::json;

// Everything that is in the log for now.
inline std::vector<AuditRecord> ReadAuditLog(const SupervisorHarness& supervisor) {
  std::vector<AuditRecord> records;
  const auto directory = audit::OpenLogDirectory(supervisor.audit_directory());
  if (!directory.ok()) return records;
  const std::vector<audit::LogFile> files = *audit::ListLogFiles(directory->get());
  for (const audit::LogFile& file : files) {
    auto reader = audit::LineReader::Open(directory->get(), file.name);
    while (auto line = *reader->Next()) {
      AuditRecord record = AuditRecord::parse(*line, nullptr, /*allow_exceptions=*/false);
      if (record.is_object() && record.contains("type")) records.push_back(std::move(record));
    }
  }
  return records;
}

inline std::vector<AuditRecord> RecordsOfType(const SupervisorHarness& supervisor,
                                              const std::string& type) {
  std::vector<AuditRecord> out;
  for (AuditRecord& record : ReadAuditLog(supervisor)) {
    if (record["type"] == type) out.push_back(std::move(record));
  }
  return out;
}

// Waits until there are `count` records of the type; the log is written in its own time.
inline std::vector<AuditRecord> AwaitRecords(const SupervisorHarness& supervisor,
                                             const std::string& type, size_t count = 1) {
  EXPECT_TRUE(Eventually([&] { return RecordsOfType(supervisor, type).size() >= count; }))
      << count << " records of type " << type;
  std::vector<AuditRecord> records = RecordsOfType(supervisor, type);
  if (records.empty()) records.emplace_back(AuditRecord::object());  // to be looked at all the same
  return records;
}

// How many records of one kind may be written of one thing since then: what is beyond is counted.
inline size_t MostRecordsSince(std::chrono::steady_clock::time_point begin) {
  const auto intervals =
      (std::chrono::steady_clock::now() - begin) / audit::RateLimit::kInterval + 2;
  return static_cast<size_t>(intervals) * audit::RateLimit::kPerInterval;
}

// Expects a log without a fault; what a crash left and the log tells of is none.
inline void ExpectWholeLog(const SupervisorHarness& supervisor) {
  const auto directory = audit::OpenLogDirectory(supervisor.audit_directory());
  ASSERT_TRUE(directory.ok());
  const auto chain = audit::Verify(directory->get(), {});
  ASSERT_TRUE(chain.ok()) << chain.status().message();
  for (const audit::Problem& problem : chain->problems()) {
    ADD_FAILURE() << problem.file << ":" << problem.line << " record " << problem.seq << ": "
                  << problem.what;
  }
  EXPECT_GT(chain->records(), 0u);
}

}  // namespace odyssey::testing

#endif  // ODYSSEY_TESTS_INTEGRATION_AUDIT_READER_H_
