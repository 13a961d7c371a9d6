// Cells made ahead, of a broker whose root makes every cell that it is asked for.

#include "supervisor/rpc/cell_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "common/audit/log_directory.h"
#include "common/audit/log_store.h"
#include "common/os/file.h"
#include "supervisor/rpc/broker.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey::supervisor {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kHang = std::chrono::seconds(60);
constexpr uint32_t kAlice = 65533, kBob = 65534;

compile::HostFacts Facts() {
  compile::HostFacts facts;
  facts.system = {{"/usr", ""}, {"/bin", "usr/bin"}, {"/lib64", "usr/lib64"}};
  facts.landlock = {landlock::Probe::kInForce, 6};
  return facts;
}

// Root, and each cell: gives a slot at once.
class ObligingRoot final {
 public:
  explicit ObligingRoot(UniqueFd socket)
      : socket_(std::move(socket)), thread_([this] { Serve(); }) {}
  ~ObligingRoot() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    shutdown(socket_.get(), SHUT_RDWR);
    thread_.join();
  }

  // What it was asked for so far, in this order.
  std::vector<std::string> launched() const { return Locked(launched_); }
  bool WasKilled(const std::string& cell_id) const { return Locked(killed_).count(cell_id) != 0; }
  // The launch of this number, from 1, fails.
  void RefuseThe(size_t number) {
    const std::lock_guard lock(mutex_);
    refuses_ = number;
  }
  // Every cell dies, and none is made any more.
  void EndAll() {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    for (const std::string& id : launched_) {
      Send(socket_.get(), wire::Encode(wire::Gone{.cell_id = id}), {});
    }
  }
  void AwaitLaunched(size_t count) const {
    Await([&] { return launched_.size() >= count; }, "launches");
  }
  void AwaitKilled(const std::string& cell_id) const {
    Await([&] { return killed_.count(cell_id) != 0; }, "the end of " + cell_id);
  }

 private:
  template <typename T>
  T Locked(const T& value) const {
    const std::lock_guard lock(mutex_);
    return value;
  }
  void Await(const std::function<bool()>& over, const std::string& what) const {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kHang, over)) << what;
  }

  void Serve() {
    for (;;) {
      const auto asked = ReceiveMessage(socket_.get());
      if (!asked.ok()) return;
      wire::Launch launch;
      wire::Kill kill;
      const std::lock_guard lock(mutex_);
      if (closed_) return;  // it was asked before that, and cannot answer any more
      if (wire::Decode(asked->bytes, &launch).ok()) OnLaunch(launch);
      if (wire::Decode(asked->bytes, &kill).ok()) OnKill(kill);
      changed_.notify_all();
    }
  }
  void OnLaunch(const wire::Launch& launch) {
    const auto plan = plan::DecodePlan(launch.plan);
    ASSERT_TRUE(plan.ok());
    launched_.push_back(plan->cell_id);
    if (launched_.size() == refuses_ || ending_) {
      const wire::Launched refusal{.request = launch.request, .status = Internal("no more")};
      return Send(socket_.get(), wire::Encode(refusal), {});
    }
    auto ends = MessageSocketPair();
    Send(socket_.get(), wire::Encode(wire::Launched{.request = launch.request}),
         {ends->first.get()});
    auto exec = MessageSocketPair();
    auto control = MessageSocketPair();
    Send(ends->second.get(), cell::Encode(cell::SlotReady{.slot = 1}),
         {exec->first.get(), control->first.get()});
    for (auto* fd : {&ends->second, &exec->second, &control->second}) {
      held_.push_back(std::move(*fd));
    }
  }
  void OnKill(const wire::Kill& kill) {
    killed_.insert(kill.cell_id);
    Send(socket_.get(), wire::Encode(wire::Gone{.cell_id = kill.cell_id}), {});
  }
  static void Send(int socket, const std::string& bytes, const std::vector<int>& fds) {
    EXPECT_TRUE(SendMessage(socket, bytes, fds).ok());
  }

  const UniqueFd socket_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<std::string> launched_;
  std::set<std::string> killed_;
  size_t refuses_ = 0;
  bool ending_ = false;
  bool closed_ = false;
  std::vector<UniqueFd> held_;
  std::thread thread_;
};

class CellPoolTest : public ::testing::Test {
 protected:
  explicit CellPoolTest(const PoolOptions& pool = {.cells = 4}, uint32_t max_cells = 0) {
    auto ends = MessageSocketPair();
    root_.emplace(std::move(ends->first));
    client_.emplace(std::move(ends->second));
    broker_.emplace(&*client_, wire::Hello{.max_cells = max_cells}, Facts(), &ceiling_, &audit_,
                    &host_, "", pool);
    loop_ = std::thread([this] { (void)broker_->Run(); });
  }
  ~CellPoolTest() override {
    root_->EndAll();
    AwaitMetric("odyssey_supervisor_cells 0");
    root_.reset();  // the loop ends with it
    loop_.join();
  }

  static PrepareSpec Spec(uint32_t owner_uid = kAlice) {
    return {.sandbox = {.ephemeral = true}, .owner_uid = owner_uid};
  }
  // The id of a new cell, under a key of its own.
  std::string Prepare(PrepareSpec spec) {
    spec.key = {"ses_1", "agent", "tooling", "c" + std::to_string(++keys_)};
    bool created = false;
    const auto view = broker_->Prepare(spec, &created);
    EXPECT_TRUE(view.ok()) << view.status().message();
    if (!view.ok()) return "";
    EXPECT_TRUE(created);
    EXPECT_EQ(view->key, spec.key);
    EXPECT_EQ(view->owner_uid, spec.owner_uid);
    return view->id;
  }
  // Asks for it until one is ready ahead, whose id it returns.
  std::string MakeAhead(const PrepareSpec& spec) {
    const size_t before = root_->launched().size();
    Prepare(spec);
    Prepare(spec);
    root_->AwaitLaunched(before + 3);
    AwaitMetric("odyssey_supervisor_pool_cells_total{event=\"made\"} " + std::to_string(++made_));
    return root_->launched().back();
  }
  void AwaitMetric(const std::string& line) {
    const auto deadline = Clock::now() + kHang;
    while (broker_->CollectMetrics().find(line + "\n") == std::string::npos) {
      ASSERT_LT(Clock::now(), deadline) << line << "\n" << broker_->CollectMetrics();
      std::this_thread::yield();
    }
  }
  std::string AuditText() {
    EXPECT_TRUE(audit_.Flush().ok());
    std::string out;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      if (entry.path().extension() == ".jsonl") out += *ReadFile(entry.path(), 1 << 20);
    }
    return out;
  }

  const fakes::TemporaryDirectory directory_;
  CeilingGate ceiling_{directory_.path() + "/policy.d", Facts().check};
  AuditLog audit_{*audit::LogStore::Open(*audit::OpenLogDirectory(directory_.path()))};
  const HostLink host_{directory_.path() + "/host.sock"};
  std::optional<ObligingRoot> root_;
  std::optional<RootClient> client_;
  std::optional<Broker> broker_;
  std::thread loop_;
  int keys_ = 0;
  int made_ = 0;
};

TEST_F(CellPoolTest, WhatIsAskedForAgainIsMadeAheadAndClaimed) {
  const std::string ahead = MakeAhead(Spec());
  EXPECT_EQ(Prepare(Spec()), ahead);
  AwaitMetric("odyssey_supervisor_pool_cells_total{event=\"claimed\"} 1");
  const std::string audit = AuditText();
  EXPECT_THAT(audit,
              HasSubstr(R"("type":"ahead","cell_id":")" + ahead + R"(","owner_uid":65533,)"));
  const size_t claim = audit.find(R"("type":"prepare","cell_id":")" + ahead);
  ASSERT_NE(claim, std::string::npos);
  const std::string record = audit.substr(claim, audit.find('\n', claim) - claim);
  EXPECT_THAT(record, HasSubstr(R"("created":true,"ahead":true)"));
  EXPECT_THAT(record, HasSubstr(R"("component":"c3")"));
}

TEST_F(CellPoolTest, WhatIsAskedForOnceIsNot) {
  PrepareSpec spec = Spec();
  for (const char* bundle : {"a", "b", "c"}) {
    spec.bundle_digest = bundle;
    Prepare(spec);
  }
  spec.bundle_digest = "d";
  MakeAhead(spec);  // time enough for one that should not be made
  EXPECT_EQ(root_->launched().size(), 6u);
}

TEST_F(CellPoolTest, AnotherOwnerNeverGetsOne) {
  const std::string ahead = MakeAhead(Spec(kAlice));
  EXPECT_NE(Prepare(Spec(kBob)), ahead);
  EXPECT_EQ(Prepare(Spec(kAlice)), ahead);
}

TEST_F(CellPoolTest, AnotherRequestDoesNotGetIt) {
  const std::string ahead = MakeAhead(Spec());
  using Change = std::function<void(PrepareSpec*)>;
  const std::map<std::string, Change> others = {
      {"a bundle", [](PrepareSpec* spec) { spec->bundle_digest = "b"; }},
      {"what a client sees by its names", [](PrepareSpec* spec) { spec->sources_digest = "s"; }},
      {"a limit", [](PrepareSpec* spec) { spec->sandbox.limits.pids = 77; }},
      {"a limit of its commands",
       [](PrepareSpec* spec) { spec->sandbox.limits.wall_clock_ms = 777; }},
      {"what it may execute",
       [](PrepareSpec* spec) { spec->sandbox.executables_mode = policy::ExecutablesMode::kAll; }},
      {"a variable",
       [](PrepareSpec* spec) {
         spec->sandbox.env = {{"WORD", "x"}};
       }},
      {"directories on disk", [](PrepareSpec* spec) { spec->sandbox.ephemeral = false; }}};
  for (const auto& [what, change] : others) {
    PrepareSpec spec = Spec();
    change(&spec);
    EXPECT_NE(Prepare(spec), ahead) << what;
  }
  EXPECT_EQ(Prepare(Spec()), ahead);
}

TEST_F(CellPoolTest, ValuesOfTheEnvironmentAreTheClaimantsOwn) {
  PrepareSpec spec = Spec();
  spec.sandbox.env = {{"WORD", "first"}};
  const std::string ahead = MakeAhead(spec);
  spec.sandbox.env = {{"WORD", "second"}};
  EXPECT_EQ(Prepare(spec), ahead);
}

TEST_F(CellPoolTest, NoClientCanNameOne) {
  const std::string ahead = MakeAhead(Spec());
  EXPECT_EQ(broker_->Describe(ahead).status().code(), Code::kNotFound);
  EXPECT_EQ(broker_->Remove(ahead, /*purge=*/true, 0).code(), Code::kNotFound);
  EXPECT_EQ(broker_->FileOp(ahead, {.op = tool::Op::kRead, .path = "x"}).status().code(),
            Code::kNotFound);
  EXPECT_EQ(broker_->UseRun(ahead, "run_id", "").status().code(), Code::kNotFound);
  EXPECT_EQ(broker_->EgressOf(ahead).status().code(), Code::kNotFound);
  EXPECT_EQ(broker_
                ->Change({.cell_id = ahead, .change = v1::CELL_CHANGE_QUARANTINE, .reason = "r"},
                         [](const CellView&) { return OkStatus(); })
                .status()
                .code(),
            Code::kNotFound);
  v1::ExecStart start;
  start.set_cell_id(ahead);
  start.add_argv("true");
  EXPECT_EQ(broker_->loop()
                ->Call([&] { return broker_->StartExec(start, "exe_1", nullptr).status(); })
                .code(),
            Code::kNotFound);
  for (const CellView& view : broker_->List(/*all=*/false)) EXPECT_NE(view.id, ahead);
  EXPECT_EQ(Prepare(Spec()), ahead);
  EXPECT_TRUE(broker_->Describe(ahead).ok());
}

TEST_F(CellPoolTest, AnotherCeilingEndsThoseThatItDidNotAdmit) {
  const std::string ahead = MakeAhead(Spec());
  directory_.Write("policy.d/10.yaml",
                   "version: odyssey.ceiling/v1\nlimits: {max: {pids: 30000}}\n");
  EXPECT_NE(Prepare(Spec()), ahead);
  root_->AwaitKilled(ahead);
  AwaitMetric("odyssey_supervisor_pool_cells_total{event=\"unused\"} 1");
}

TEST_F(CellPoolTest, AnotherCeilingEndsThemBeforeAnybodyAsks) {
  const std::string ahead = MakeAhead(Spec());
  directory_.Write("policy.d/10.yaml", "wrong");
  root_->AwaitKilled(ahead);
  AwaitMetric("odyssey_supervisor_cells_ahead 0");
  EXPECT_THAT(AuditText(), HasSubstr(R"("type":"cell_end","cell_id":")" + ahead +
                                     R"(","reason":"the operator's ceiling has changed")"));
}

TEST_F(CellPoolTest, PolicyThatIsAskedForTakesThePlaceOfOneThatIsNotAnyMore) {
  PrepareSpec spec = Spec();
  std::vector<std::string> ahead;
  for (const char* bundle : {"a", "b", "c", "d"}) {
    spec.bundle_digest = bundle;
    ahead.push_back(MakeAhead(spec));
  }
  spec.bundle_digest = "e";
  MakeAhead(spec);
  root_->AwaitKilled(ahead[0]);
  AwaitMetric("odyssey_supervisor_cells_ahead 4");
  for (size_t i = 1; i < ahead.size(); ++i) EXPECT_FALSE(root_->WasKilled(ahead[i])) << i;
}

TEST_F(CellPoolTest, OneThatCannotBeMadeIsNotTriedAgainAtOnce) {
  root_->RefuseThe(3);
  Prepare(Spec());
  Prepare(Spec());
  root_->AwaitLaunched(3);
  AwaitMetric("odyssey_supervisor_cells 2");
  Prepare(Spec());
  // Time for one that should not be made.
  broker_->loop()->Await<bool>([&](const Done<bool>& done) {
    broker_->loop()->At(Clock::now() + std::chrono::milliseconds(50), [done] { done(true); });
  });
  EXPECT_EQ(root_->launched().size(), 4u);
  Prepare(Spec());
  AwaitMetric("odyssey_supervisor_pool_cells_total{event=\"made\"} 1");
  EXPECT_EQ(root_->launched().size(), 6u);
}

class CellPoolIdleTest : public CellPoolTest {
 protected:
  CellPoolIdleTest() : CellPoolTest({.cells = 4, .idle = std::chrono::seconds(2)}) {}
};

TEST_F(CellPoolIdleTest, WhatNobodyAsksForInTimeEnds) {
  const std::string ahead = MakeAhead(Spec());
  root_->AwaitKilled(ahead);
  AwaitMetric("odyssey_supervisor_pool_cells_total{event=\"unused\"} 1");
  AwaitMetric("odyssey_supervisor_cells_ahead 0");
  EXPECT_EQ(root_->launched().size(), 3u);
  EXPECT_THAT(AuditText(), HasSubstr(R"("reason":"nobody asked for it in time")"));
}

class CellPoolRoomTest : public CellPoolTest {
 protected:
  static constexpr uint32_t kMaxCells = 16;
  CellPoolRoomTest() : CellPoolTest({.cells = 2}, kMaxCells) {}
};

TEST_F(CellPoolRoomTest, ThoseThatAreAskedForTakeItsPlaces) {
  const std::string ahead = MakeAhead(Spec());
  PrepareSpec other = Spec(kBob);
  while (root_->launched().size() < kMaxCells - 1) {
    EXPECT_FALSE(root_->WasKilled(ahead));
    other.bundle_digest += "b";
    Prepare(other);
  }
  other.bundle_digest += "b";
  Prepare(other);
  EXPECT_EQ(root_->launched().size(), kMaxCells);
  root_->AwaitKilled(ahead);
  AwaitMetric("odyssey_supervisor_cells_ahead 0");
}

class CellPoolOffTest : public CellPoolTest {
 protected:
  CellPoolOffTest() : CellPoolTest({.cells = 0}) {}
};

TEST_F(CellPoolOffTest, NoneIsMade) {
  for (int i = 0; i < 8; ++i) Prepare(Spec());
  EXPECT_EQ(root_->launched().size(), 8u);
  EXPECT_THAT(broker_->CollectMetrics(), HasSubstr("odyssey_supervisor_cells 8\n"));
}

// ── What can be made ahead ──────────────────────────────────────────────────────────────────────

CellOrder Order(const std::function<void(CellOrder*)>& change) {
  CellOrder order;
  order.spec.sandbox.ephemeral = true;
  order.compiled.plan.entries = {{.kind = plan::EntryKind::kHostTree,
                                  .target = "/usr",
                                  .source = "/usr",
                                  .ownership = plan::Ownership::kUnmapped}};
  change(&order);
  return order;
}

void Show(const std::string& target, uint64_t inode, CellOrder* order) {
  order->compiled.plan.entries.push_back(
      {.kind = plan::EntryKind::kHostTree, .target = target, .source = "/srv", .inode = inode});
}

TEST(IsPoolableTest, IsWhatIsTheSameWhoeverGetsItAndWhenever) {
  struct Case {
    std::string what;
    bool poolable;
    std::function<void(CellOrder*)> change;
  };
  const Case cases[] = {
      {"a cell in memory", true, [](CellOrder*) {}},
      {"a tree on disk has its key's name", false,
       [](CellOrder* order) { order->spec.sandbox.ephemeral = false; }},
      {"the host's own", false, [](CellOrder* order) { order->compiled.unconfined = true; }},
      {"a user's secrets", false,
       [](CellOrder* order) { order->spec.sandbox.providers = {"github"}; }},
      {"an identified directory", true, [](CellOrder* order) { Show("/data", 7, order); }},
      {"one that may be another by then", false, [](CellOrder* order) { Show("/data", 0, order); }},
      {"a protected name in it", false,
       [](CellOrder* order) {
         Show("/data", 7, order);
         Show("/other", 8, order);
         order->compiled.plan.entries.push_back(
             {.kind = plan::EntryKind::kPart, .target = "/data/.git/hooks"});
       }},
      {"a program of the system", true,
       [](CellOrder* order) {
         order->compiled.plan.entries.push_back(
             {.kind = plan::EntryKind::kPart, .target = "/usr/bin/git"});
       }},
      {"reviewed writes", false,
       [](CellOrder* order) {
         order->spec.sandbox.mounts = {
             {.source = "/srv", .target = "/srv", .access = policy::Access::kReview}};
       }},
  };
  for (const Case& one : cases) EXPECT_EQ(IsPoolable(Order(one.change)), one.poolable) << one.what;
}

}  // namespace
}  // namespace odyssey::supervisor
