// Takes the place of odyssey-supervisor-rpc: says it is ready, then breaks the protocol with root
// in the way that its first argument after the program's name tells. Root passes on nothing but
// "--client-uid N", so N is the number of the way.

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <string>

#include "common/os/message_socket.h"
#include "policy/plan/plan.h"
#include "supervisor/wire/root_wire.h"
#include "tests/integration/hostile_ways.h"

namespace {

using odyssey::SendMessage;
using odyssey::Status;
using odyssey::testing::HostileWay;
namespace wire = odyssey::wire;

constexpr int kRootSocketFd = 3;

odyssey::plan::Plan PlanToMount(const std::string& source) {
  odyssey::plan::Plan plan{.cell_id = "cel_hostile",
                           .memory_bytes = 1 << 28,
                           .cpu_millis = 1000,
                           .pids = 64,
                           .tmp_bytes = 1 << 20};
  plan.entries.push_back({.kind = odyssey::plan::EntryKind::kHostTree,
                          .target = "/data",
                          .source = source,
                          .access = odyssey::plan::Access::kReadWrite});
  return plan;
}

// Asks for a plan that no policy compiles to; root must answer, and refuse.
void AskFor(const odyssey::plan::Plan& plan) {
  const std::string launch = wire::Encode(wire::Launch{1, odyssey::plan::EncodePlan(plan)});
  if (!SendMessage(kRootSocketFd, launch).ok()) return;
  const auto answer = odyssey::ReceiveMessage(kRootSocketFd);
  wire::Launched launched;
  if (!answer.ok() || !wire::Decode(answer->bytes, &launched).ok()) return;
  const Status said = launched.status;
  fprintf(stderr, "root answered %s with %zu descriptors\n", said.ToString().c_str(),
          answer->fds.size());
}

void FloodWithoutReading() {
  const std::string ask = wire::Encode(wire::Stats{1, "cel_none"});
  while (SendMessage(kRootSocketFd, ask).ok()) {
  }
}

void Misbehave(HostileWay way) {
  const std::string kill = wire::Encode(wire::Kill{"cel_none", false});
  switch (way) {
    case HostileWay::kRubbish:
      (void)SendMessage(kRootSocketFd, "rubbish");
      return;
    case HostileWay::kUnknownType:
      (void)SendMessage(kRootSocketFd, "\x63");
      return;
    case HostileWay::kRootsOwnMessage:
      (void)SendMessage(kRootSocketFd, wire::Encode(wire::Gone{"cel_1"}));
      return;
    case HostileWay::kTruncated:
      (void)SendMessage(kRootSocketFd, kill.substr(0, kill.size() - 1));
      return;
    case HostileWay::kTrailing:
      (void)SendMessage(kRootSocketFd, kill + "x");
      return;
    case HostileWay::kDescriptors:
      (void)SendMessage(kRootSocketFd, kill, {0});
      return;
    case HostileWay::kTooLong:
      (void)SendMessage(kRootSocketFd, std::string(odyssey::kMaxMessageBytes + 1, '\3'));
      return;
    case HostileWay::kMalformedPlan:
      (void)SendMessage(kRootSocketFd, wire::Encode(wire::Launch{1, "no plan"}));
      return;
    case HostileWay::kDoesNotRead:
      FloodWithoutReading();
      return;
    case HostileWay::kForbiddenSource:
      AskFor(PlanToMount("/etc"));
      return;
    case HostileWay::kOwnState: {
      odyssey::plan::Plan plan = PlanToMount("/");
      plan.cell_tree = "../../../etc";
      AskFor(plan);
      return;
    }
    case HostileWay::kRootAsUser: {
      odyssey::plan::Plan plan = PlanToMount("/srv");
      plan.user = 0;
      AskFor(plan);
      return;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  (void)odyssey::ReceiveMessage(kRootSocketFd);  // Hello
  (void)SendMessage(kRootSocketFd, wire::EncodeReady());
  for (int i = 1; i + 1 < argc; ++i) {
    if (strcmp(argv[i], "--client-uid") == 0) Misbehave(static_cast<HostileWay>(atoi(argv[i + 1])));
  }
  // Ends with root's end of the socket, or by its signal.
  pollfd socket{kRootSocketFd, 0, 0};
  poll(&socket, 1, -1);
  return 0;
}
