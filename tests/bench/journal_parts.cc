// Appending to a session's journal, without and with the wait for the disk.

#include <stdlib.h>

#include <filesystem>
#include <string>

#include <benchmark/benchmark.h>

#include "agentd/base/clock.h"
#include "agentd/base/ids.h"
#include "agentd/event/journal.h"
#include "common/base/status.h"

namespace odyssey::bench {
namespace {

void JournalAppend(benchmark::State& state) {
  std::string directory = std::filesystem::temp_directory_path() / "odyssey-bench-journal-XXXXXX";
  ODY_CHECK(mkdtemp(directory.data()) != nullptr);
  agent::SystemClock clock;
  agent::RandomIds ids;
  const auto journal =
      event::Journal::Open(directory + "/journal", "ses_bench", {.clock = &clock, .ids = &ids});
  ODY_CHECK(journal.ok());
  const auto durability =
      state.range(0) != 0 ? event::Durability::kSynced : event::Durability::kBatched;
  event::Event delta;
  delta.mutable_agent_message_delta()->set_turn_id("trn_bench");
  delta.mutable_agent_message_delta()->set_delta(std::string(64, 'x'));
  for (auto _ : state) ODY_CHECK((*journal)->Append(delta, durability).ok());
  state.SetLabel(state.range(0) != 0 ? "synced" : "batched");
  std::filesystem::remove_all(directory);
}
BENCHMARK(JournalAppend)->Arg(0)->Arg(1)->ArgName("synced");

}  // namespace
}  // namespace odyssey::bench
