// Reads any bytes as a scenario, and plays what is one, against results that fit its calls: nothing
// that a bundle brings may crash agentd.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agentd/model/scenario_player.h"
#include "agentd/scenario/scenario.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace model = odyssey::model;
  odyssey::dialect::Problems problems;
  const auto scenario = odyssey::scenario::ParseScenario(
      "fuzz.yaml", std::string_view(reinterpret_cast<const char*>(data), size), &problems);
  if (!scenario) return 0;

  constexpr int kMaxRounds = 8;
  std::vector<model::PlayedCall> calls;
  for (int round = 0; round < kMaxRounds; ++round) {
    const model::Played played = model::PlayScenario(*scenario, "prompt", calls);
    if (!played.end.ok()) return 0;
    const size_t before = calls.size();
    for (const model::ModelEvent& event : played.events) {
      if (const auto* call = std::get_if<model::ToolUse>(&event)) {
        calls.push_back(
            {call->name, R"({"status_code":1,"stdout":"a\nb\n","entries":[{"name":"x"}]})"});
      }
    }
    if (calls.size() == before) return 0;
  }
  return 0;
}
