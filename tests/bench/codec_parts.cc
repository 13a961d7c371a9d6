// Encoding and decoding what crosses the private sockets.

#include <string>

#include <benchmark/benchmark.h>

#include "common/base/status.h"
#include "policy/plan/plan.h"
#include "supervisor/wire/cell_wire.h"
#include "supervisor/wire/tool_wire.h"

namespace odyssey::bench {
namespace {

// About what an agent's cell has: system trees, own trees, a few mounts.
plan::Plan TypicalPlan() {
  plan::Plan plan{.cell_id = "cel_0123456789abcdef", .cell_tree = "tooling/agent/session"};
  for (int i = 0; i < 40; ++i) {
    plan.entries.push_back({.kind = plan::EntryKind::kHostTree,
                            .target = "/workspace/mount/read/abs/srv/data/" + std::to_string(i),
                            .source = "/srv/data/" + std::to_string(i)});
  }
  return plan;
}

cell::ExecSpec TypicalExec() {
  cell::ExecSpec spec{.argv = {"/bin/sh", "-lc", "cargo test --workspace"}, .cwd = "/workspace"};
  for (int i = 0; i < 12; ++i) spec.env.push_back("NAME" + std::to_string(i) + "=some value");
  return spec;
}

void PlanEncode(benchmark::State& state) {
  const plan::Plan plan = TypicalPlan();
  for (auto _ : state) benchmark::DoNotOptimize(plan::EncodePlan(plan));
}
BENCHMARK(PlanEncode);

void PlanDecode(benchmark::State& state) {
  const std::string bytes = plan::EncodePlan(TypicalPlan());
  for (auto _ : state) {
    const Result<plan::Plan> plan = plan::DecodePlan(bytes);
    ODY_CHECK(plan.ok());
  }
}
BENCHMARK(PlanDecode);

void ExecSpecEncodeAndDecode(benchmark::State& state) {
  const cell::ExecSpec spec = TypicalExec();
  for (auto _ : state) {
    cell::ExecSpec decoded;
    ODY_CHECK(cell::Decode(cell::Encode(spec), &decoded).ok());
  }
}
BENCHMARK(ExecSpecEncodeAndDecode);

void ToolResponseEncodeAndDecode(benchmark::State& state) {
  const tool::Response response{.content = std::string(static_cast<size_t>(state.range(0)), 'x')};
  for (auto _ : state) {
    tool::Response decoded;
    ODY_CHECK(tool::Decode(tool::Encode(response), &decoded).ok());
  }
}
BENCHMARK(ToolResponseEncodeAndDecode)->Arg(4096)->Arg(1 << 20);

}  // namespace
}  // namespace odyssey::bench
