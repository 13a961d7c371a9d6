// A worker that hostile bytes have taken over asks for what its policy does not allow. This program
// is the worker too.

#include "supervisor/egress/broker/cell_server.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "common/os/message_socket.h"

namespace odyssey::egress {
namespace {

constexpr char kCurl[] = "/usr/bin/curl";
constexpr char kPinned[] = "8.8.8.8";

// What the worker asks for, one after the other.
std::vector<egress_wire::Dial> Asked() {
  return {{.id = 1, .host = "other.example", .port = 80, .program = kCurl},
          {.id = 2, .host = "named.example", .port = 81, .program = kCurl},
          {.id = 3, .host = "named.example", .port = 80, .program = "/usr/bin/other"},
          {.id = 4, .host = "named.example", .port = 80},
          {.id = 5, .host = "127.0.0.1", .port = 80, .program = kCurl},
          {.id = 6, .host = "169.254.169.254", .port = 80, .program = kCurl},
          {.id = 7, .host = kPinned, .port = 80, .program = kCurl, .sha256 = "b"},
          {.id = 8, .host = kPinned, .port = 80, .program = kCurl, .sha256 = "a"}};
}

// Asks, and reports the code of each answer as that of a decision.
int BeWorker() {
  for (const egress_wire::Dial& dial : Asked()) {
    if (!SendMessage(egress_wire::kWorkerFd, egress_wire::Encode(dial)).ok()) return 1;
    egress_wire::Dialed answer;
    for (;;) {
      const Result<Message> message = ReceiveMessage(egress_wire::kWorkerFd);
      if (!message.ok()) return 1;
      if (egress_wire::Decode(message->bytes, &answer).ok()) break;  // others set the worker up
    }
    egress_wire::Record record;
    record.host = dial.host;
    record.code = answer.status.ok() ? "connected" : answer.code;
    if (!SendMessage(egress_wire::kWorkerFd, egress_wire::Encode(record)).ok()) return 1;
  }
  return 0;
}

egress_wire::SetPolicy Policy() {
  egress_wire::SetPolicy set{.cell_id = "cel_1", .revision = 1};
  Rule rule{.key = "named", .name = "named", .binaries = {{.path = kCurl}}};
  // The last two are none that a file could have: they lead where no policy does.
  for (const char* host : {"named.example", "127.0.0.1", "169.254.169.254"}) {
    rule.endpoints.push_back({.host = host, .ports = {80}, .key = "network_policies.named"});
  }
  set.policy.rules.push_back(std::move(rule));
  // No address that it leads to is among those that are allowed.
  Endpoint closed{.host = kPinned, .ports = {80}, .allowed_ips = {*ParseRange("10.0.0.0/8")}};
  set.policy.rules.push_back({.key = "pinned",
                              .name = "pinned",
                              .endpoints = {closed},
                              .binaries = {{.path = kCurl, .sha256 = "a", .only_itself = true}}});
  return set;
}

TEST(CellServerTest, DecidesOnWhatAWorkerAsksFor) {
  asio::io_context loop;
  auto names = NameLookup::Make(&loop);
  auto ends = MessageSocketPair();
  auto arrived = MessageSocketPair();
  auto providers = ProviderStore::Open("", "");
  ASSERT_TRUE(names.ok() && ends.ok() && arrived.ok() && providers.ok());
  const InferenceFiles routes{.directory = "/nonexistent"};
  const Dialer dialer(&loop, std::nullopt);
  Shares shares{Limits()};
  const WorkerProgram worker{.path = "/proc/self/exe", .certificates = "", .limits = {}};
  const auto server = std::make_shared<CellServer>(
      BrokerParts{&loop, names->get(), &dialer, &shares, &*providers, &routes, &worker},
      std::move(ends->second));
  asio::co_spawn(loop, server->Run(), asio::detached);

  const int rpc = ends->first.get();
  ASSERT_TRUE(SendMessage(rpc, egress_wire::Encode(Policy())).ok());
  ASSERT_TRUE(SendMessage(arrived->second.get(), "x").ok());  // so that the worker is started
  const egress_wire::Way way{{.kind = cell::EgressWay::Kind::kProxy, .port = 3128}};
  ASSERT_TRUE(SendMessage(rpc, egress_wire::Encode(way), {arrived->first.get()}).ok());

  std::vector<std::string> codes;
  while (codes.size() < Asked().size() && loop.run_one() > 0) {
    const Result<Message> message = ReceiveMessage(rpc, MSG_DONTWAIT);
    egress_wire::Record record;
    if (message.ok() && egress_wire::Decode(message->bytes, &record).ok()) {
      codes.push_back(record.code);
    }
  }
  EXPECT_EQ(codes, (std::vector<std::string>{"policy_denied", "policy_denied", "policy_denied",
                                             "policy_denied", "ssrf_denied", "ssrf_denied",
                                             "policy_denied", "ssrf_denied"}));
}

}  // namespace

int BeWorkerForTest() { return BeWorker(); }

}  // namespace odyssey::egress

int main(int argc, char** argv) {
  if (strcmp(argv[0], "odyssey-egress-worker") == 0) return odyssey::egress::BeWorkerForTest();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
