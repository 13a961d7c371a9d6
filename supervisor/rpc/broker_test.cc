// The broker between a root and a cell that the test is.

#include "supervisor/rpc/broker.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <future>
#include <optional>
#include <thread>

#include "common/audit/log_directory.h"
#include "common/audit/log_store.h"
#include "common/os/file.h"
#include "common/os/unix_listener.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey::supervisor {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

compile::HostFacts Facts() {
  compile::HostFacts facts;
  facts.system = {{"/usr", ""}, {"/bin", "usr/bin"}, {"/lib64", "usr/lib64"}};
  facts.landlock = {landlock::Probe::kInForce, 6};
  return facts;
}

class IdleSink final : public ExecSink {
 public:
  std::string* BeginOutput() override { return &buffer_; }
  void SendOutput(Stream) override { buffer_.clear(); }
  void SendDenial(const explain::Denial&) override {}
  void SendOutcome(const Outcome& outcome) override { ended_.set_value(outcome.sent.kind()); }
  void StdinTaken() override {}
  v1::OutcomeKind AwaitEnd() { return ended_.get_future().get(); }

 private:
  std::string buffer_;
  std::promise<v1::OutcomeKind> ended_;
};

v1::ExecStart StartOf(const std::string& cell_id, bool terminal = false) {
  v1::ExecStart start;
  start.set_cell_id(cell_id);
  start.add_argv("false");
  if (terminal) start.mutable_terminal();
  return start;
}

class BrokerTest : public ::testing::Test {
 protected:
  BrokerTest() {
    auto ends = MessageSocketPair();
    root_ = std::move(ends->first);
    client_.emplace(std::move(ends->second));
    broker_.emplace(&*client_, wire::Hello{}, Facts(), &ceiling_, &audit_, &host_, "");
    loop_ = std::thread([this] { (void)broker_->Run(); });
  }
  ~BrokerTest() override {
    shutdown(root_.get(), SHUT_WR);
    loop_.join();
  }

  std::future<Result<CellView>> PrepareLater(PrepareSpec spec) {
    spec.key = {"ses_1", "agent", "tooling", "tools"};
    return std::async(std::launch::async, [this, spec = std::move(spec)] {
      bool created = false;
      return broker_->Prepare(spec, &created);
    });
  }
  // A cell whose workspace is a tree of the host.
  std::future<Result<CellView>> PrepareLater() {
    return PrepareLater({.sandbox = {.workspace = "/srv/p"}});
  }

  // The operator's word that uid 65534 may have the host, and a cell that asks for it.
  void GrantHost() const {
    directory_.Write("policy.d/10.yaml",
                     "version: odyssey.ceiling/v1\nbuiltin: false\n"
                     "grants: [{users: ['65534'], write: [/srv], network: [full],\n"
                     "          mode: [danger_full_access]}]\n");
  }
  static PrepareSpec OnHost() {
    return {.sandbox = {.mode = policy::Mode::kDangerFullAccess,
                        .network = policy::Network::kFull,
                        .workspace = "/srv"},
            .owner_uid = 65534,
            .allow_danger = true};
  }
  std::future<Status> CheckLater(PrepareSpec spec) {
    spec.key = {"ses_1", "agent", "tooling", "tools"};
    return std::async(std::launch::async,
                      [this, spec = std::move(spec)] { return broker_->Check(spec); });
  }
  // The host runner's end of the next connection to it.
  static UniqueFd AcceptOnHost(const UniqueFd& listener) {
    pollfd polled{listener.get(), POLLIN, 0};
    EXPECT_EQ(poll(&polled, 1, 5000), 1);
    if (polled.revents == 0) return {};
    UniqueFd runner(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    EXPECT_TRUE(SendMessage(runner.get(), wire::Encode(wire::HostHello{})).ok());
    return runner;
  }

  // Starts what `provider` is asked to, and takes the cell's end of its socket.
  void Launch(const UniqueFd& provider) {
    const auto asked = ReceiveMessage(provider.get());
    wire::Launch launch;
    ASSERT_TRUE(asked.ok() && wire::Decode(asked->bytes, &launch).ok());
    auto ends = MessageSocketPair();
    cell_ = std::move(ends->second);
    const std::string answer = wire::Encode(wire::Launched{.request = launch.request});
    ASSERT_TRUE(SendMessage(provider.get(), answer, {ends->first.get()}).ok());
  }

  void Say(const std::string& bytes, const std::vector<int>& fds = {}) {
    ASSERT_TRUE(SendMessage(cell_.get(), bytes, fds).ok());
  }
  void GiveSlot(uint64_t number) {
    auto exec = MessageSocketPair();
    auto control = MessageSocketPair();
    Say(cell::Encode(cell::SlotReady{.slot = number}), {exec->first.get(), control->first.get()});
    exec_ = std::move(exec->second);
    control_ = std::move(control->second);
  }
  void AwaitRequest(cell::MessageType wanted) {
    for (;;) {
      const auto asked = ReceiveMessage(cell_.get());
      ASSERT_TRUE(asked.ok());
      const auto type = cell::TypeOf(asked->bytes);
      if (type.ok() && *type == wanted) return;
    }
  }

  // A cell that has slot 1.
  Result<CellView> MakeCell() {
    auto preparing = PrepareLater();
    Launch(root_);
    GiveSlot(1);
    return preparing.get();
  }
  // What belongs to the loop is used, and let go, there.
  template <typename F>
  auto OnLoop(F task) {
    return broker_->loop()->Call(task);
  }
  std::shared_ptr<Exec> StartExec(const v1::ExecStart& start, ExecSink* sink) {
    const auto exec = OnLoop([&] { return broker_->StartExec(start, "exe_1", sink); });
    EXPECT_TRUE(exec.ok()) << exec.status().message();
    return exec.ok() ? *exec : nullptr;
  }
  void Detach(std::shared_ptr<Exec>* exec) {
    OnLoop([exec] {
      (*exec)->Detach();
      exec->reset();
      return true;
    });
  }
  // All that is in the audit log.
  std::string AuditText() const {
    std::string out;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      if (entry.path().extension() == ".jsonl") out += *ReadFile(entry.path(), 1 << 20);
    }
    return out;
  }
  // A command in slot 1 of a cell.
  std::shared_ptr<Exec> StartCommand(ExecSink* sink, bool terminal = false) {
    const auto prepared = MakeCell();
    if (!prepared.ok()) return nullptr;
    return StartExec(StartOf(prepared->id, terminal), sink);
  }

  const fakes::TemporaryDirectory directory_;
  CeilingGate ceiling_{directory_.path() + "/policy.d", Facts().check};
  AuditLog audit_{*audit::LogStore::Open(*audit::OpenLogDirectory(directory_.path()))};
  const HostLink host_{directory_.path() + "/host.sock"};
  std::optional<RootClient> client_;
  std::optional<Broker> broker_;
  std::thread loop_;
  UniqueFd root_, cell_, exec_, control_;
};

// This root sends no cgroup.freeze.
TEST_F(BrokerTest, CellThatCannotBeFrozenIsNotSuspendedAndEndsInQuarantine) {
  const auto cell = MakeCell();
  ASSERT_TRUE(cell.ok());
  std::vector<v1::CellPhase> kept;
  const auto change = [&](v1::CellChange what, uint32_t by_uid) {
    return broker_->Change(
        {.cell_id = cell->id, .change = what, .reason = "it is bad", .by_uid = by_uid},
        [&](const CellView& view) {
          kept.push_back(view.standing.phase);
          return OkStatus();
        });
  };
  EXPECT_THAT(change(v1::CELL_CHANGE_SUSPEND, 0).status().message(),
              HasSubstr("no cgroup v2 tree"));
  EXPECT_TRUE(PrepareLater().get().ok()) << "nothing was said of it";

  auto quarantined =
      std::async(std::launch::async, [&] { return change(v1::CELL_CHANGE_QUARANTINE, 5); });
  const auto asked = ReceiveMessage(root_.get());
  wire::Kill kill;
  ASSERT_TRUE(asked.ok() && wire::Decode(asked->bytes, &kill).ok());
  EXPECT_FALSE(kill.purge);
  ASSERT_TRUE(SendMessage(root_.get(), wire::Encode(wire::Gone{.cell_id = kill.cell_id})).ok());
  const auto view = quarantined.get();
  ASSERT_TRUE(view.ok()) << view.status().message();
  EXPECT_EQ(view->standing.phase, v1::CELL_PHASE_QUARANTINED);
  EXPECT_EQ(view->standing.by_uid, 5u);
  const Status refused = PrepareLater().get().status();
  EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
  EXPECT_THAT(refused.message(), HasSubstr("by uid 5: it is bad"));

  EXPECT_EQ(change(v1::CELL_CHANGE_RELEASE, 5).status().code(), Code::kPermissionDenied);
  EXPECT_FALSE(PrepareLater().get().ok());
  EXPECT_TRUE(change(v1::CELL_CHANGE_RELEASE, 0).ok());
  EXPECT_TRUE(MakeCell().ok());
  EXPECT_EQ(kept, (std::vector{v1::CELL_PHASE_SUSPENDED, v1::CELL_PHASE_QUARANTINED,
                               v1::CELL_PHASE_UNSPECIFIED}));
}

// What a cell is explained by is read without the broker's lock, as soon as there are commands.
TEST_F(BrokerTest, CellThatIsReadyHasSaidWhatItFound) {
  auto preparing = PrepareLater();
  Launch(root_);
  Say(cell::Encode(cell::Unmapped{{"/workspace"}}));
  GiveSlot(1);
  const auto prepared = preparing.get();
  ASSERT_TRUE(prepared.ok()) << prepared.status().message();
  EXPECT_THAT(prepared->explanation, Contains(HasSubstr("/workspace: its file system")));
}

TEST_F(BrokerTest, WhatACellSaysOnceItIsReadyIsLeftOut) {
  auto preparing = PrepareLater();
  Launch(root_);
  GiveSlot(1);
  const auto prepared = preparing.get();
  ASSERT_TRUE(prepared.ok()) << prepared.status().message();

  Say(cell::Encode(cell::Unmapped{{"/workspace"}}));
  Say(cell::Encode(cell::SlotGone{1}));  // is answered when that has been read
  AwaitRequest(cell::MessageType::kWantSlot);
  AwaitRequest(cell::MessageType::kWantSlot);
  const auto again = PrepareLater().get();
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->explanation, prepared->explanation);
}

TEST_F(BrokerTest, CellThatReadsNothingHoldsUpNobody) {
  auto preparing = PrepareLater();
  Launch(root_);
  for (uint64_t slot = 1; slot < 2000; ++slot) {
    GiveSlot(slot);
    Say(cell::Encode(cell::SlotGone{slot}));  // another is asked for
  }
  EXPECT_TRUE(preparing.get().ok());
  EXPECT_TRUE(PrepareLater().get().ok());
}

TEST_F(BrokerTest, SlotThatIsSaidToBeGoneAndStaysIsNotWaitedFor) {
  IdleSink sink;
  auto session = StartCommand(&sink);
  ASSERT_NE(session, nullptr);
  Say(cell::Encode(cell::SlotGone{1}));  // both of its sockets are open, and say nothing
  EXPECT_EQ(sink.AwaitEnd(), v1::OUTCOME_KIND_SETUP_FAILED);
  Detach(&session);
}

// What a command's end asks the broker, it asks while the broker starts it.
TEST_F(BrokerTest, CommandThatEndsAsItIsStartedHoldsUpNobody) {
  const auto prepared = MakeCell();
  ASSERT_TRUE(prepared.ok());
  exec_.reset();  // the slot is dead, which nobody has said yet
  control_.reset();
  IdleSink sink;
  auto session = StartExec(StartOf(prepared->id), &sink);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(sink.AwaitEnd(), v1::OUTCOME_KIND_SETUP_FAILED);
  Detach(&session);
  EXPECT_EQ(broker_->live_cells(), 1U);
}

TEST_F(BrokerTest, CommandThatIsGivenUpBeforeItsSlotComesHoldsUpNobody) {
  const auto prepared = MakeCell();
  ASSERT_TRUE(prepared.ok());
  IdleSink first, second;
  const v1::ExecStart start = StartOf(prepared->id);
  auto running = StartExec(start, &first);
  auto waiting = StartExec(start, &second);
  ASSERT_TRUE(running && waiting);
  Detach(&waiting);
  GiveSlot(2);
  EXPECT_EQ(broker_->live_cells(), 1U);
  auto third = StartExec(start, &second);
  EXPECT_TRUE(ReceiveMessage(exec_.get()).ok()) << "the slot is the next command's";
  Detach(&third);
  Detach(&running);
}

TEST_F(BrokerTest, WhatIsNoTerminalIsNotTakenForOne) {
  IdleSink sink;
  auto session = StartCommand(&sink, true);
  ASSERT_NE(session, nullptr);
  for (const char* path : {"/dev/zero", "/etc/passwd"}) {  // neither can be watched
    const UniqueFd other(open(path, O_RDONLY | O_CLOEXEC));
    const std::string ready = cell::EncodeEmpty(cell::MessageType::kTerminalReady);
    ASSERT_TRUE(SendMessage(exec_.get(), ready, {other.get()}).ok());
  }
  ASSERT_TRUE(SendMessage(control_.get(), cell::Encode(cell::ExecExited{})).ok());
  Say(cell::Encode(cell::SlotGone{1}));
  EXPECT_EQ(sink.AwaitEnd(), v1::OUTCOME_KIND_EXITED);
  Detach(&session);
}

TEST_F(BrokerTest, SlotThatDoesNotReadIsNotWaitedForAndEndsWithItsSocket) {
  IdleSink sink;
  auto session = StartCommand(&sink);
  ASSERT_NE(session, nullptr);
  OnLoop([&] {
    for (int i = 0; i < 2000; ++i) session->Signal(SIGUSR1);
    session->Cancel();
    return true;
  });
  Result<Message> read = ReceiveMessage(control_.get());
  while (read.ok()) read = ReceiveMessage(control_.get());
  EXPECT_EQ(read.status(), Unavailable("receive message: peer closed"));
  Say(cell::Encode(cell::SlotGone{1}));
  EXPECT_EQ(sink.AwaitEnd(), v1::OUTCOME_KIND_CANCELLED);
  Detach(&session);
}

TEST_F(BrokerTest, CheckSaysWhatPrepareWouldAndMakesNothing) {
  directory_.Write(
      "policy.d/10.yaml",
      "version: odyssey.ceiling/v1\nbuiltin: false\ngrants: [{users: ['*'], write: [/srv/p]}]\n");
  PrepareSpec spec{.sandbox = {.workspace = "/srv/p"}};
  EXPECT_TRUE(CheckLater(spec).get().ok());
  spec.sandbox.network = policy::Network::kFull;
  const Status refused = CheckLater(spec).get();
  EXPECT_EQ(refused.code(), Code::kPermissionDenied) << refused.ToString();
  EXPECT_EQ(refused, PrepareLater(spec).get().status());
  directory_.Write("policy.d/10.yaml", "wrong");
  EXPECT_EQ(CheckLater(spec).get().code(), Code::kFailedPrecondition);
  pollfd polled{root_.get(), POLLIN, 0};
  EXPECT_EQ(poll(&polled, 1, 0), 0) << "root is asked for nothing";
  EXPECT_EQ(broker_->live_cells(), 0u);
}

// Whether a program that it names is here is not the operator's to allow.
TEST_F(BrokerTest, CheckDoesNotAskWhatTheHostLacks) {
  const PrepareSpec spec{.sandbox = {.executables_mode = policy::ExecutablesMode::kExplicit,
                                     .executables = {"no-such-tool"}}};
  EXPECT_TRUE(CheckLater(spec).get().ok());
  EXPECT_FALSE(PrepareLater(spec).get().ok());
}

TEST_F(BrokerTest, CheckOfACellOnTheHostIsTheRunnersAnswer) {
  if (geteuid() != 0) GTEST_SKIP() << "only root is believed to be the host runner";
  EXPECT_EQ(CheckLater(OnHost()).get().code(), Code::kPermissionDenied)
      << "no grant of the ceiling";
  GrantHost();
  EXPECT_EQ(CheckLater(OnHost()).get().code(), Code::kFailedPrecondition) << "no runner";
  const auto listener = ListenUnix(directory_.path() + "/host.sock", 0600, SOCK_SEQPACKET);
  ASSERT_TRUE(listener.ok());
  for (const Status& wanted : {OkStatus(), PermissionDenied("the grant file does not name it")}) {
    auto checking = CheckLater(OnHost());
    const UniqueFd runner = AcceptOnHost(*listener);
    const auto asked = ReceiveMessage(runner.get());
    wire::Launch launch;
    wire::HostPlan plan;
    ASSERT_TRUE(asked.ok() && wire::Decode(asked->bytes, &launch).ok());
    ASSERT_TRUE(wire::Decode(launch.plan, &plan).ok());
    EXPECT_TRUE(plan.check_only);
    EXPECT_EQ(plan.uid, 65534u);
    const wire::Launched answer{.request = launch.request, .status = wanted};
    ASSERT_TRUE(SendMessage(runner.get(), wire::Encode(answer)).ok());
    EXPECT_EQ(checking.get(), wanted);
    EXPECT_EQ(ReceiveMessage(runner.get()).status().code(), Code::kUnavailable) << "it hung up";
  }
  EXPECT_EQ(broker_->live_cells(), 0u);
}

v1::RecordApprovalRequest Approval(const std::string& decision) {
  v1::RecordApprovalRequest out;
  out.set_request_id("apr_1");
  out.set_session_id("ses_1");
  out.set_turn_id("trn_1");
  out.set_tool_name("Bash");
  out.set_scope("Bash(rm:*): rm");
  out.set_digest(std::string(64, 'a'));
  out.set_decision(decision);
  out.set_by_uid(1000);
  out.set_by("client");
  out.set_note("go on");
  return out;
}
constexpr uid_t kAgentdUid = 4711;

TEST_F(BrokerTest, RecordsAnApprovalAsItsReporterToldIt) {
  ASSERT_TRUE(broker_->RecordApproval(Approval("allow_always"), kAgentdUid).ok());
  EXPECT_NE(AuditText().find(
                R"("type":"approval","request_id":"apr_1","session_id":"ses_1","turn_id":"trn_1",)"
                R"("tool":"Bash","scope":"Bash(rm:*): rm","digest":")" +
                std::string(64, 'a') +
                R"(","decision":"allow_always","by_uid":1000,"by":"client","note":"go on",)"
                R"("reporter_uid":4711,)"),
            std::string::npos)
      << AuditText();
}

TEST_F(BrokerTest, OthersReportNoApprovals) {
  for (const uid_t uid : {uid_t{0}, getuid(), static_cast<uid_t>(-1)}) {
    EXPECT_EQ(broker_->RecordApproval(Approval("deny"), uid).code(), Code::kPermissionDenied);
  }
  ASSERT_TRUE(audit_.Flush().ok());
  EXPECT_EQ(AuditText().find(R"("type":"approval")"), std::string::npos);
  EXPECT_NE(AuditText().find(R"("type":"refuse","what":"approval","about":"apr_1")"),
            std::string::npos);
}

TEST_F(BrokerTest, AnApprovalThatSaysLessIsRefused) {
  for (const auto& spoil : std::vector<std::function<void(v1::RecordApprovalRequest*)>>{
           [](auto* of) { of->clear_request_id(); }, [](auto* of) { of->clear_session_id(); },
           [](auto* of) { of->clear_by(); }, [](auto* of) { of->set_digest("aa"); },
           [](auto* of) { of->set_decision("allow"); }}) {
    v1::RecordApprovalRequest approval = Approval("deny");
    spoil(&approval);
    EXPECT_EQ(broker_->RecordApproval(approval, kAgentdUid).code(), Code::kInvalidArgument);
  }
}

TEST_F(BrokerTest, AnApprovalThatIsNotOnDiskIsAFailure) {
  ASSERT_TRUE(broker_->RecordApproval(Approval("deny"), kAgentdUid).ok());
  signal(SIGXFSZ, SIG_IGN);
  const rlimit none{AuditText().size() + 10, RLIM_INFINITY};  // stands for a full disk
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
  EXPECT_EQ(broker_->RecordApproval(Approval("allow_once"), kAgentdUid).code(),
            Code::kResourceExhausted);
  const rlimit all{RLIM_INFINITY, RLIM_INFINITY};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &all), 0);
  EXPECT_TRUE(broker_->RecordApproval(Approval("allow_once"), kAgentdUid).ok());
}

TEST_F(BrokerTest, ConnectionToTheHostEndsWithItsCellWhateverWasAskedOnIt) {
  if (geteuid() != 0) GTEST_SKIP() << "only root is believed to be the host runner";
  GrantHost();
  const auto listener = ListenUnix(directory_.path() + "/host.sock", 0600, SOCK_SEQPACKET);
  ASSERT_TRUE(listener.ok());
  auto preparing = PrepareLater(OnHost());
  const UniqueFd runner = AcceptOnHost(*listener);
  Launch(runner);
  const auto prepared = preparing.get();
  ASSERT_TRUE(prepared.ok()) << prepared.status().message();

  IdleSink sink;
  auto session = StartExec(StartOf(prepared->id), &sink);
  ASSERT_NE(session, nullptr);
  GiveSlot(1);
  ASSERT_TRUE(ReceiveMessage(exec_.get()).ok());
  ASSERT_TRUE(
      SendMessage(control_.get(), cell::Encode(cell::ExecExited{.wait_status = 1 << 8})).ok());
  ASSERT_TRUE(ReceiveMessage(runner.get()).ok());  // what the kernel has counted: no answer
  ASSERT_TRUE(SendMessage(runner.get(), wire::Encode(wire::Gone{.cell_id = prepared->id})).ok());
  EXPECT_EQ(sink.AwaitEnd(), v1::OUTCOME_KIND_EXITED);
  Detach(&session);
  pollfd polled{runner.get(), POLLIN, 0};
  EXPECT_EQ(poll(&polled, 1, 5000), 1) << "the connection is still open";
}

}  // namespace
}  // namespace odyssey::supervisor
