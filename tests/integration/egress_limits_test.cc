// What one cell can make odyssey-egress hold, wait for and record, by the real programs.

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <optional>
#include <string>
#include <vector>

#include "common/os/open_files.h"
#include "tests/integration/egress_rig.h"

namespace odyssey::testing {
namespace {

constexpr uint16_t kEcho = 8101, kWeb = 8102, kOther = 8103;
constexpr char kBudget[] = "budget_exceeded";
constexpr char kOverload[] = "overloaded";

class EgressTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (WhyNoNetwork().empty()) return;
    ASSERT_EQ(getenv("ODYSSEY_MUST_RUN"), nullptr) << WhyNoNetwork();  // NOLINT
    GTEST_SKIP() << WhyNoNetwork();
  }

  egress::NetworkPolicy policy_ = PolicyFor({kEcho, kWeb, kOther});
};

// An open tunnel to the echo server.
Client Tunnel(const Cell& cell) {
  Client client = cell.Connect();
  const std::string answer = client.Send(ConnectTo(kServerHost, kEcho)).Until("\r\n\r\n");
  EXPECT_EQ(answer.substr(0, 12), "HTTP/1.1 200") << answer;
  return client;
}

// ── Budgets ─────────────────────────────────────────────────────────────────────────────────────

using EgressBudgetTest = EgressTest;

TEST_F(EgressBudgetTest, RequestsBeyondTheRateAre429) {
  const Server web(kWeb, AnswerRequests);
  const Broker broker;
  policy_.budget.requests_per_minute = 2;
  Cell cell(broker, policy_);
  EXPECT_EQ(cell.StatusOf(Get(kWeb)), "200");
  EXPECT_EQ(cell.StatusOf(Get(kWeb)), "200");
  Client client = cell.Connect();
  const std::string answer = client.Send(Get(kWeb)).Rest();
  EXPECT_NE(answer.find("HTTP/1.1 429 Too Many Requests\r\n"), std::string::npos) << answer;
  EXPECT_NE(answer.find("\r\nRetry-After: "), std::string::npos) << answer;
  EXPECT_NE(answer.find("\"error\":\"budget_exceeded\""), std::string::npos) << answer;
  EXPECT_NE(answer.find("the cell has used its budget of 2 requests a minute"), std::string::npos);
  cell.WaitFor(kBudget);
}

TEST_F(EgressBudgetTest, OneConnectionHasTheSameRate) {
  const Server web(kWeb, AnswerRequests);
  const Broker broker;
  policy_.rules[0].endpoints[0].budget.requests_per_minute = 2;
  Cell cell(broker, policy_);
  Client client = cell.Connect();
  const std::string answers = client.Send(Get(kWeb) + Get(kWeb) + Get(kWeb)).Rest();
  EXPECT_NE(answers.find("429"), std::string::npos) << answers;
  EXPECT_NE(answers.find("x.endpoints[0] has used its budget"), std::string::npos) << answers;
}

TEST_F(EgressBudgetTest, ConnectionsAtATime) {
  const Server echo(kEcho, Echo);
  const Broker broker;
  policy_.budget.max_connections = 1;
  Cell cell(broker, policy_);
  {
    const Client open = Tunnel(cell);
    EXPECT_EQ(cell.StatusOf(ConnectTo(kServerHost, kEcho)), "429");
    cell.WaitFor(kBudget);
  }
  Eventually([&] { return cell.StatusOf(ConnectTo(kServerHost, kEcho)) == "200"; }, "a place");
}

TEST_F(EgressBudgetTest, ConnectionsAMinuteOverSocks) {
  const Server echo(kEcho, Echo);
  const Broker broker;
  policy_.budget.connections_per_minute = 1;
  Cell cell(broker, policy_);
  EXPECT_EQ(cell.StatusOf(ConnectTo(kServerHost, kEcho)), "200");
  Client client = cell.Connect();
  const std::string hello{"\x05\x01\x00", 3};
  const std::string request{"\x05\x01\x00\x01\x5d\xb8\xd8\x22\x1f\xa5", 10};
  EXPECT_EQ(client.Send(hello).Until(std::string_view("\x05\x00", 2)).size(), 2u);
  const std::string answer = client.Send(request).Rest();
  ASSERT_GE(answer.size(), 2u);
  EXPECT_EQ(answer[1], 2);  // not allowed
  cell.WaitFor(kBudget);
}

TEST_F(EgressBudgetTest, ATunnelOverItsBytesIsReset) {
  std::string received;
  const Server echo(kEcho, [&](int socket) {
    char part[4096];
    for (ssize_t n; (n = recv(socket, part, sizeof(part), 0)) > 0;) {
      received.append(part, static_cast<size_t>(n));
      send(socket, part, static_cast<size_t>(n), MSG_NOSIGNAL);
    }
  });
  const Broker broker;
  policy_.budget.bytes_up = 1000;
  Cell cell(broker, policy_);
  Client client = Tunnel(cell);
  client.Send(std::string(600, 'a') + ".").Until(".");
  EXPECT_EQ(client.Send(std::string(600, 'b')).Rest(), "reset");
  cell.WaitFor(kBudget);
  EXPECT_EQ(received, std::string(600, 'a') + ".");
  EXPECT_EQ(cell.StatusOf(ConnectTo(kServerHost, kEcho)), "429");
  // A changed policy gives nothing back.
  policy_.rules[0].name = "changed";
  cell.SetPolicy(policy_);
  EXPECT_EQ(cell.StatusOf(ConnectTo(kServerHost, kEcho)), "429");
  policy_.budget.bytes_up = 0;
  cell.SetPolicy(policy_);
  Eventually([&] { return cell.StatusOf(ConnectTo(kServerHost, kEcho)) == "200"; }, "no budget");
}

TEST_F(EgressBudgetTest, AResponseOverItsBytesIsCut) {
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n";
  const Server web(kWeb, Say(head + std::string(100'000, 'x')));
  const Broker broker;
  policy_.budget.bytes_down = 50'000;
  Cell cell(broker, policy_);
  EXPECT_EQ(cell.Connect().Send(Get(kWeb)).Rest(), "reset");
  cell.WaitFor(kBudget);
  EXPECT_EQ(cell.StatusOf(Get(kWeb)), "429");
}

TEST_F(EgressBudgetTest, ARequestOverItsBytesIs429) {
  const Server web(kWeb, Say(""));
  const Broker broker;
  policy_.budget.bytes_up = 5'000;
  Cell cell(broker, policy_);
  std::string post = Get(kWeb);
  post.replace(0, 3, "POST");
  post.insert(post.size() - 2, "Content-Length: 100000\r\n");
  EXPECT_EQ(cell.StatusOf(post + std::string(100'000, 'x')), "429");
  cell.WaitFor(kBudget);
}

// Also by what a killed one had counted.
TEST_F(EgressBudgetTest, TheNextWorkerGoesOnCounting) {
  const Server echo(kEcho, Echo);
  const Broker broker;
  policy_.budget.bytes_up = 1000;
  Cell cell(broker, policy_);
  Tunnel(cell).Send(std::string(999, 'a') + ".").Until(".");
  // What is counted is sent before what is suppressed.
  for (int i = 0; i < 100; ++i) cell.LookUp("other");
  Eventually([&] { return cell.suppressed() > 0; }, "a count");
  const std::vector<pid_t> workers = broker.workers();
  ASSERT_EQ(workers.size(), 1u);
  ASSERT_EQ(kill(workers[0], SIGKILL), 0);
  Eventually([&] { return broker.workers() != workers; }, "the worker's end");
  EXPECT_EQ(cell.StatusOf(ConnectTo(kServerHost, kEcho)), "429");
}

// ── Stalls ──────────────────────────────────────────────────────────────────────────────────────

class EgressStallTest : public EgressTest {
 protected:
  void SetUp() override {
    EgressTest::SetUp();
    if (IsSkipped()) return;
    broker_.emplace(std::vector<std::string>{"head=1", "handshake=1", "request-stall=1",
                                             "response-stall=1", "tunnel-idle=1"});
    cell_.emplace(*broker_, policy_);
  }

  std::optional<Broker> broker_;
  std::optional<Cell> cell_;
};

TEST_F(EgressStallTest, HalfAHead) {
  EXPECT_EQ(cell_->Connect().Rest(), "");
  EXPECT_EQ(cell_->Connect().Send("GET http://x").Rest(), "");
  EXPECT_EQ(cell_->Connect().Send("\x05").Rest(), "");
}

TEST_F(EgressStallTest, HalfABody) {
  const Server web(kWeb, Say(""));
  std::string post = Get(kWeb);
  post.replace(0, 3, "POST");
  post.insert(post.size() - 2, "Content-Length: 10\r\n");
  const std::string answer = cell_->Connect().Send(post + "12345").Rest();
  EXPECT_NE(answer.find("HTTP/1.1 408 "), std::string::npos) << answer;
  cell_->WaitFor("request_timeout");
}

TEST_F(EgressStallTest, HalfABodyThatIsJudged) {
  egress::Endpoint& endpoint = policy_.rules[0].endpoints[0];
  endpoint.protocol = egress::Protocol::kGraphQl;
  endpoint.access = egress::AccessLevel::kFull;
  cell_->SetPolicy(policy_);
  std::string post = Get(kWeb);
  post.replace(0, 3, "POST");
  post.insert(post.size() - 2, "Content-Type: application/json\r\nContent-Length: 10\r\n");
  EXPECT_EQ(cell_->StatusOf(post + "12345"), "408");
  cell_->WaitFor("request_timeout");
}

TEST_F(EgressStallTest, AServerThatDoesNotAnswer) {
  const Server web(kWeb, Say(""));
  EXPECT_EQ(cell_->StatusOf(Get(kWeb)), "502");
  cell_->WaitFor("upstream_unreachable");
}

TEST_F(EgressStallTest, AServerThatStopsAnsweringIsNoEnd) {
  const Server web(kWeb, Say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n"));
  EXPECT_EQ(cell_->Connect().Send(Get(kWeb)).Rest(), "reset");
}

TEST_F(EgressStallTest, AnIdleTunnel) {
  const Server echo(kEcho, Echo);
  Client client = Tunnel(*cell_);
  EXPECT_EQ(client.Send("a").Until("a"), "a");
  EXPECT_EQ(client.Rest(), "reset");
  cell_->WaitFor("idle_timeout");
}

TEST_F(EgressStallTest, HalfAClientHello) {
  const Broker broker{{"handshake=1"}};
  const Server echo(kEcho, Echo);
  Cell cell(broker, policy_);
  Client client = Tunnel(cell);
  EXPECT_EQ(client.Send(std::string_view("\x16\x03\x01\x01\x00\x01", 6)).Rest(), "");
}

// ── Bounds ──────────────────────────────────────────────────────────────────────────────────────

class EgressBoundsTest : public EgressTest {
 protected:
  EgressBoundsTest() { RaiseOpenFiles(); }
};

TEST_F(EgressBoundsTest, OneHostHasSoManyConnections) {
  const Server echo(kEcho, Echo);
  const Broker broker({"per-host=2"});
  Cell cell(broker, policy_);
  const Client one = Tunnel(cell), two = Tunnel(cell);
  EXPECT_EQ(cell.StatusOf(ConnectTo(kServerHost, kEcho)), "503");
  cell.WaitFor(kOverload);
}

TEST_F(EgressBoundsTest, AWorkerOutOfDescriptorsRefusesAndRecovers) {
  const Server echo(kEcho, Echo), web(kWeb, AnswerRequests);
  const Broker broker;
  Cell cell(broker, policy_);
  EXPECT_EQ(cell.StatusOf(Get(kWeb)), "200");
  const std::vector<pid_t> workers = broker.workers();
  ASSERT_EQ(workers.size(), 1u);
  for (const rlim_t files : {50, 51, 52, 53, 54, 55, 56}) {
    rlimit limit{};
    ASSERT_EQ(prlimit(workers[0], RLIMIT_NOFILE, nullptr, &limit), 0);
    limit.rlim_cur = files;
    ASSERT_EQ(prlimit(workers[0], RLIMIT_NOFILE, &limit, nullptr), 0);
    const uint64_t before = cell.denied();
    {
      std::vector<Client> clients;
      for (int i = 0; i < 60; ++i) {
        clients.push_back(cell.Connect());
        clients.back().Send(ConnectTo(kServerHost, kEcho));
      }
      Eventually([&] { return cell.denied() > before; }, "a refusal");
    }
    Eventually([&] { return cell.StatusOf(Get(kWeb)) == "200"; }, "a request that works");
  }
  EXPECT_GE(cell.Count(kOverload), 1u);
  EXPECT_EQ(broker.workers(), workers);
}

TEST_F(EgressBoundsTest, FiveThousandSocketsThenARequest) {
  const Server web(kWeb, AnswerRequests);
  const Broker broker({"head=5"});
  Cell cell(broker, policy_);
  EXPECT_EQ(cell.StatusOf(Get(kWeb)), "200");
  const std::vector<pid_t> workers = broker.workers();
  std::vector<Client> clients;
  for (int i = 0; i < 5000; ++i) clients.push_back(cell.Connect());
  EXPECT_EQ(cell.StatusOf(Get(kWeb)), "200");  // in its turn, when some of them were late
  clients.clear();
  EXPECT_EQ(cell.StatusOf(Get(kWeb)), "200");
  EXPECT_EQ(broker.workers(), workers);
}

TEST_F(EgressBoundsTest, ClientsBeyondTheBoundWait) {
  const Server web(kWeb, AnswerRequests);
  const Broker broker({"clients=2"});
  Cell cell(broker, policy_);
  std::vector<Client> clients;
  for (int i = 0; i < 2; ++i) {
    clients.push_back(cell.Connect());
    EXPECT_NE(clients.back().Send(Get(kWeb)).Until("ok").find(" 200 "), std::string::npos);
  }
  Client third = cell.Connect();
  third.Send(Get(kWeb));
  clients.pop_back();
  EXPECT_NE(third.Until("ok").find(" 200 "), std::string::npos);
}

TEST_F(EgressBoundsTest, AStormOfDenialsKeepsItsCount) {
  const Server web(kWeb, AnswerRequests);
  const Broker broker;
  Cell cell(broker, policy_);
  constexpr size_t kStorm = 10'000;
  for (size_t i = 0; i < kStorm; ++i) cell.LookUp("other");
  EXPECT_EQ(cell.StatusOf(Get(kWeb)), "200");
  const auto sum = [&] { return cell.Count("policy_denied") + cell.suppressed(); };
  Eventually([&] { return sum() >= kStorm; }, "the last count");
  EXPECT_EQ(sum(), kStorm);
  EXPECT_LT(cell.records().size(), kStorm / 2);
  EXPECT_EQ(broker.workers().size(), 1u);
}

TEST_F(EgressBoundsTest, ASyncIsAnsweredAfterTheRecordsBeforeIt) {
  const Broker broker;
  Cell cell(broker, policy_);
  cell.Sync();  // without a worker
  for (size_t i = 1; i <= 30; ++i) {
    cell.LookUp("other");
    cell.Sync();
    ASSERT_EQ(cell.Count("policy_denied"), i);
  }
}

// One cell's dials, to what never answers, leave places for another's.
TEST_F(EgressBoundsTest, AThousandDialsKeepNoOtherCellWaiting) {
  const Server echo(kEcho, Echo);
  const Broker broker({"cell-dials=4", "dials=8", "per-host=1000"});
  const Cell busy(broker, PolicyFor({80}, kBlackHole));
  std::vector<Client> clients;
  for (int i = 0; i < 1000; ++i) {
    clients.push_back(busy.Connect());
    clients.back().Send(ConnectTo(kBlackHole, 80));
  }
  Cell other(broker, policy_);
  EXPECT_EQ(other.StatusOf(ConnectTo(kServerHost, kEcho)), "200");
  for (const Client& client : clients) ASSERT_FALSE(client.HasBytes());
}

TEST_F(EgressBoundsTest, AWorkerBeyondTheBoundWaitsForAnotherToEnd) {
  const Server web(kWeb, AnswerRequests);
  const Broker broker({"workers=1"});
  Cell first(broker, policy_), second(broker, policy_);
  EXPECT_EQ(first.StatusOf(Get(kWeb)), "200");
  Client client = second.Connect();
  client.Send(Get(kWeb));
  EXPECT_EQ(first.StatusOf(Get(kWeb)), "200");
  EXPECT_EQ(broker.workers().size(), 1u);
  EXPECT_FALSE(client.HasBytes());
  first.End();
  EXPECT_NE(client.Until("ok").find(" 200 "), std::string::npos);
}

}  // namespace
}  // namespace odyssey::testing
