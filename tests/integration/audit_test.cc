// The audit log, from outside: what happens is in it, nothing else writes or reads it, and nothing
// happens that cannot be recorded.

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "common/os/file.h"
#include "tests/integration/audit_reader.h"
#include "tests/testing/running_exec.h"

namespace odyssey::testing {
namespace {

v1::PrepareCellRequest Mounting(const std::string& source) {
  auto request = SupervisorHarness::Request("mounting");
  auto* mount = request.mutable_sandbox()->add_mounts();
  mount->set_source(source);
  mount->set_target("/data");
  mount->set_access(policy::v1::ACCESS_READ_ONLY);
  return request;
}

class AuditTest : public ::testing::Test {
 protected:
  grpc::Status Write(const std::string& cell, const std::string& path, const std::string& content) {
    grpc::ClientContext context;
    v1::FileOpRequest request;
    request.set_cell_id(cell);
    request.mutable_write()->set_path(path);
    request.mutable_write()->set_content(content);
    v1::FileOpResponse response;
    return supervisor_.stub()->FileOp(&context, request, &response);
  }

  std::string WholeText() const {
    std::string text;
    for (const AuditRecord& record : ReadAuditLog(supervisor_)) text += record.dump() + "\n";
    return text;
  }

  SupervisorHarness supervisor_;
};

TEST_F(AuditTest, WhatHappensIsRecorded) {
  auto request = SupervisorHarness::Request("recorded");
  request.set_owner_uid(1234);
  const auto cell = supervisor_.Prepare(request);
  ASSERT_TRUE(cell.ok());
  EXPECT_TRUE(supervisor_.Shell(cell->cell_id(), "exit 3").Exited(3));
  EXPECT_TRUE(Write(cell->cell_id(), "a.txt", "12345").ok());
  EXPECT_TRUE(supervisor_.Remove(cell->cell_id()).ok());

  EXPECT_EQ(AwaitRecords(supervisor_, "start").size(), 1u);
  const AuditRecord prepare = AwaitRecords(supervisor_, "prepare")[0];
  EXPECT_EQ(prepare["cell_id"], cell->cell_id());
  EXPECT_EQ(prepare["component"], "recorded");
  EXPECT_EQ(prepare["owner_uid"], 1234);
  EXPECT_EQ(prepare["host_uid"], cell->host_uid());
  EXPECT_EQ(prepare["policy_digest"], cell->policy_digest());
  bool policy_told = false;
  for (const AuditRecord& policy : RecordsOfType(supervisor_, "policy")) {
    policy_told |= policy["digest"] == cell->policy_digest() && policy["lines"].size() > 5;
  }
  EXPECT_TRUE(policy_told) << "a digest stands for something";

  const AuditRecord exec = AwaitRecords(supervisor_, "exec")[0];
  EXPECT_EQ(exec["argv"], AuditRecord({"/bin/sh", "-c", "exit 3"}));
  EXPECT_EQ(exec["owner_uid"], 1234);
  const AuditRecord end = AwaitRecords(supervisor_, "exec_end")[0];
  EXPECT_EQ(end["exec_id"], exec["exec_id"]);
  EXPECT_EQ(end["exit_code"], 3);
  const AuditRecord file = AwaitRecords(supervisor_, "file")[0];
  EXPECT_EQ(file["path"], "a.txt");
  EXPECT_EQ(file["bytes"], 5);
  EXPECT_EQ(AwaitRecords(supervisor_, "remove")[0]["cell_id"], cell->cell_id());
  EXPECT_EQ(AwaitRecords(supervisor_, "cell_end")[0]["cell_id"], cell->cell_id());
  ExpectWholeLog(supervisor_);
}

TEST_F(AuditTest, RefusedRequestsAreRecorded) {
  const auto request = Mounting("/etc/shadow");
  EXPECT_FALSE(supervisor_.Prepare(request).ok());
  const AuditRecord refuse = AwaitRecords(supervisor_, "refuse")[0];
  EXPECT_EQ(refuse["what"], "prepare");
  EXPECT_EQ(refuse["code"], "PERMISSION_DENIED");
  EXPECT_NE(refuse["error"].get<std::string>().find("/etc/shadow"), std::string::npos);

  const std::string cell = supervisor_.Cell();
  EXPECT_FALSE(supervisor_.Exec(cell, {""}).status.ok());
  const AuditRecord exec = AwaitRecords(supervisor_, "refuse", 2)[1];
  EXPECT_EQ(exec["what"], "exec");
  EXPECT_EQ(exec["about"], cell);
  EXPECT_EQ(exec["code"], "INVALID_ARGUMENT");
  EXPECT_TRUE(RecordsOfType(supervisor_, "exec").empty()) << "it did not run";
}

TEST_F(AuditTest, RootReportsNoApprovalInAgentdsName) {
  v1::RecordApprovalRequest request;
  request.set_request_id("apr_1");
  request.set_session_id("ses_1");
  request.set_tool_name("Bash");
  request.set_digest(std::string(64, 'a'));
  request.set_decision("allow_once");
  request.set_by("client");
  grpc::ClientContext context;
  v1::RecordApprovalResponse response;
  EXPECT_EQ(supervisor_.stub()->RecordApproval(&context, request, &response).error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
  const std::string text = WholeText();
  EXPECT_EQ(text.find(R"("type":"approval")"), std::string::npos);
}

TEST_F(AuditTest, ClientsThatGoAwayLeaveAnEndBehind) {
  const std::string cell = supervisor_.Cell();
  {
    RunningExec running(supervisor_.stub(), cell, "echo on; sleep 60");
    ASSERT_TRUE(running.ReadUntil("on"));
  }
  EXPECT_EQ(AwaitRecords(supervisor_, "exec_end")[0]["outcome"], "cancelled");
}

TEST_F(AuditTest, SecretsAreNotRecorded) {
  constexpr char kSecret[] = "hunter2hunter2";
  auto request = SupervisorHarness::Request("secrets");
  (*request.mutable_sandbox()->mutable_env())["SERVICE_NAME"] = kSecret;
  const std::string cell = supervisor_.Cell(request);
  ASSERT_TRUE(supervisor_
                  .Shell(cell, "echo $SERVICE_NAME >&2; echo $SERVICE_NAME; cat; exit 1",
                         {.input = kSecret})
                  .Exited(1));
  ASSERT_TRUE(Write(cell, "a.txt", kSecret).ok());
  AwaitRecords(supervisor_, "exec_end");
  AwaitRecords(supervisor_, "file");
  EXPECT_EQ(WholeText().find(kSecret), std::string::npos);
}

// ── Who reaches it ──────────────────────────────────────────────────────────────────────────────

TEST_F(AuditTest, NobodyButRootAndTheSupervisorMayEnter) {
  struct stat log;
  ASSERT_EQ(stat(supervisor_.audit_directory().c_str(), &log), 0);
  struct stat rpc;
  ASSERT_EQ(stat(("/proc/" + std::to_string(supervisor_.rpc()) + "/task").c_str(), &rpc), 0);
  EXPECT_EQ(log.st_mode & 07777, 0700u);
  EXPECT_NE(log.st_uid, 0u) << "root does not write it";
  struct stat state;
  ASSERT_EQ(stat((supervisor_.directory() + "/state").c_str(), &state), 0);
  EXPECT_EQ(state.st_uid, 0u) << "who owns the parent could put another log in its place";
  EXPECT_EQ(state.st_mode & 07777, 0700u);

  const pid_t child = fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (setgid(kNobody) != 0 || setuid(kNobody) != 0) _exit(2);
    const int fd = open(supervisor_.audit_directory().c_str(), O_RDONLY);
    _exit(fd < 0 && errno == EACCES ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(AuditTest, NoCellCanBeShownTheLog) {
  for (const std::string& source : {supervisor_.audit_directory(),
                                    supervisor_.directory() + "/state", supervisor_.directory()}) {
    const auto request = Mounting(source);
    EXPECT_EQ(supervisor_.Prepare(request).status().code(), Code::kPermissionDenied) << source;
  }
  const std::string cell = supervisor_.Cell();
  EXPECT_FALSE(supervisor_.Shell(cell, "ls " + supervisor_.audit_directory()).Exited(0));
}

// What a command chooses ends up inside a value: it cannot make a record.
TEST_F(AuditTest, CommandsCannotForgeARecord) {
  const std::string cell = supervisor_.Cell();
  const std::string forged =
      "\"}\n{\"seq\":1,\"time\":\"2026-01-01T00:00:00.000Z\",\"type\":\"grant\",\"what\":\"all\"}"
      "\n";
  supervisor_.Exec(cell, {"/bin/echo", forged, "\x1b]52;c;aGk=\x07\r\xE2\x80\xAE"});
  (void)Write(cell, forged.substr(0, 60), "");
  const AuditRecord exec = AwaitRecords(supervisor_, "exec")[0];
  EXPECT_EQ(exec["argv"][1], forged);
  AwaitRecords(supervisor_, "exec_end");
  EXPECT_TRUE(RecordsOfType(supervisor_, "grant").empty());
  ExpectWholeLog(supervisor_);
}

// ── Crashes ─────────────────────────────────────────────────────────────────────────────────────

// Runs short commands in short-lived cells until told to stop; what a crash does to them is its own
// business.
class BusyClient final {
 public:
  explicit BusyClient(SupervisorHarness* supervisor)
      : thread_([this, supervisor] {
          while (!stop_) {
            const auto cell = supervisor->Prepare(SupervisorHarness::Request("busy"));
            for (int i = 0; i < 20 && cell.ok() && !stop_; ++i) {
              supervisor->Exec(cell->cell_id(), {"/bin/true"});
            }
          }
        }) {}
  ~BusyClient() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

TEST_F(AuditTest, KilledWritersLeaveALogThatIsWhole) {
  constexpr size_t kKills = 4;
  {
    const BusyClient busy(&supervisor_);
    for (size_t i = 1; i <= kKills; ++i) {
      const size_t before = AwaitRecords(supervisor_, "exec_end", 20 * i).size();
      ASSERT_GT(before, 0u);
      const pid_t rpc = supervisor_.rpc();
      ASSERT_TRUE(SignalProcess(rpc, SIGKILL));
      ASSERT_TRUE(Eventually([&] { return supervisor_.rpc() > 0 && supervisor_.rpc() != rpc; }));
      AwaitRecords(supervisor_, "start", i + 1);
    }
  }
  ExpectWholeLog(supervisor_);
  EXPECT_TRUE(RecordsOfType(supervisor_, "missing").empty());
}

TEST_F(AuditTest, RestartedSupervisorGoesOnWithTheSameLog) {
  supervisor_.Cell();
  AwaitRecords(supervisor_, "prepare");
  supervisor_.KillKeeper();
  ASSERT_TRUE(Eventually([&] { return supervisor_.CellProcesses().empty(); }));
  ASSERT_TRUE(Eventually([&] { return supervisor_.Restart(); }));
  AwaitRecords(supervisor_, "start", 2);
  ExpectWholeLog(supervisor_);
}

std::string OnlyFile(const SupervisorHarness& supervisor) {
  return supervisor.audit_directory() + "/" + audit::LogFileName(1);
}

TEST_F(AuditTest, LogThatWasCutWhileNobodyLookedIsToldAtTheNextStart) {
  supervisor_.Cell();
  AwaitRecords(supervisor_, "prepare");
  ASSERT_TRUE(Eventually([&] {
    const auto head =
        audit::ReadHead(audit::OpenLogDirectory(supervisor_.audit_directory())->get());
    return head.ok() && head->seq >= 4;
  }));
  supervisor_.KillKeeper();
  {  // rpc outlives it by the records of its own end
    const auto log = audit::OpenLogDirectory(supervisor_.audit_directory());
    ASSERT_EQ(flock(log->get(), LOCK_EX), 0);
  }
  const auto text = ReadFile(OnlyFile(supervisor_), 1 << 20);
  ASSERT_TRUE(text.ok());
  ASSERT_EQ(truncate(OnlyFile(supervisor_).c_str(), static_cast<off_t>(text->find("{\"seq\":2,"))),
            0);
  ASSERT_TRUE(Eventually([&] { return supervisor_.Restart(); }));
  const AuditRecord missing = AwaitRecords(supervisor_, "missing")[0];
  EXPECT_EQ(missing["last_seq"], 1);
  EXPECT_GE(missing["head_seq"], 4);
}

// ── A full disk ─────────────────────────────────────────────────────────────────────────────────

class FullDiskTest : public AuditTest {
 protected:
  // The log of the next start lies on a small file system of its own.
  void SetUp() override {
    supervisor_.KillKeeper();
    ASSERT_TRUE(Eventually([&] { return supervisor_.CellProcesses().empty(); }));
    ASSERT_EQ(mount("tmpfs", supervisor_.audit_directory().c_str(), "tmpfs", MS_NOSUID | MS_NODEV,
                    "size=128k,mode=0700"),
              0);
    ASSERT_TRUE(Eventually([&] { return supervisor_.Restart(); }));
  }
  void TearDown() override { umount2(supervisor_.audit_directory().c_str(), MNT_DETACH); }

  // Until nothing more fits.
  void FillDisk() {
    std::ofstream filler(filler_path(), std::ios::binary);
    for (int i = 0; i < 1024 && filler; ++i) filler << std::string(1024, 'x') << std::flush;
  }
  std::string AuditFeature() {
    grpc::ClientContext context;
    v1::GetInfoResponse info;
    EXPECT_TRUE(supervisor_.stub()->GetInfo(&context, {}, &info).ok());
    for (const v1::Feature& feature : info.features()) {
      if (feature.name() == "audit") return feature.detail();
    }
    return "";
  }
  std::string filler_path() const { return supervisor_.audit_directory() + "/filler"; }
};

TEST_F(FullDiskTest, NothingRunsThatCannotBeRecordedAndWorkGoesOnWhenThereIsRoom) {
  const std::string cell = supervisor_.Cell();
  EXPECT_TRUE(supervisor_.Exec(cell, {"/bin/true"}).Exited(0));
  FillDisk();
  // What fits into the last page may still be written.
  ExecResult refused;
  ASSERT_TRUE(Eventually([&] {
    refused = supervisor_.Exec(cell, {"/bin/true"});
    return !refused.status.ok();
  }));
  EXPECT_EQ(refused.status.code(), Code::kResourceExhausted) << refused.ToString();
  EXPECT_NE(refused.status.message().find("audit log: write: No space left"), std::string::npos)
      << refused.status.message();
  EXPECT_EQ(supervisor_.Prepare(SupervisorHarness::Request("other")).status().code(),
            Code::kResourceExhausted);
  EXPECT_EQ(Write(cell, "a.txt", "x").error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_NE(AuditFeature().find("No space left"), std::string::npos);
  const ExecResult marked = supervisor_.Exec(cell, {"/bin/touch", "/workspace/ran"});
  EXPECT_FALSE(marked.status.ok());

  ASSERT_EQ(unlink(filler_path().c_str()), 0);
  ASSERT_TRUE(Eventually([&] { return supervisor_.Exec(cell, {"/bin/true"}).Exited(0); }));
  EXPECT_FALSE(supervisor_.Exec(cell, {"/bin/cat", "/workspace/ran"}).Exited(0))
      << "a refused command did not run";
  const AuditRecord resumed = AwaitRecords(supervisor_, "resumed")[0];
  EXPECT_GE(resumed["refused"], 4);
  EXPECT_EQ(AuditFeature(), "what happens is recorded");
  ExpectWholeLog(supervisor_);
}

// ── Storms ──────────────────────────────────────────────────────────────────────────────────────

TEST_F(AuditTest, StormOfRefusalsIsCountedToTheLast) {
  constexpr size_t kRefusals = 3000;
  const auto request = Mounting("/etc/shadow");
  const auto begin = std::chrono::steady_clock::now();
  for (size_t i = 0; i < kRefusals; ++i) ASSERT_FALSE(supervisor_.Prepare(request).ok());
  const auto told = [&] {
    size_t count = 0;
    for (const AuditRecord& record : ReadAuditLog(supervisor_)) {
      if (record["type"] == "refuse") ++count;
      if (record["type"] == "suppressed" && record["of"] == "refuse") {
        count += record["count"].get<size_t>();
      }
    }
    return count;
  };
  EXPECT_TRUE(Eventually([&] { return told() == kRefusals; })) << told();
  EXPECT_LE(RecordsOfType(supervisor_, "refuse").size(), MostRecordsSince(begin));
  EXPECT_TRUE(supervisor_.Exec(supervisor_.Cell(), {"/bin/true"}).Exited(0));
  ExpectWholeLog(supervisor_);
}

}  // namespace
}  // namespace odyssey::testing
