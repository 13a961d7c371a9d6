// Deciding: the shell parser, the tool rules and the seccomp filter.

#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "common/base/status.h"
#include "policy/rules/shell_split.h"
#include "policy/rules/tool_rules.h"
#include "policy/seccomp/filter.h"

namespace odyssey::bench {
namespace {

constexpr char kPipeline[] =
    "cd src && find . -name '*.cc' -print0 | xargs -0 grep -n \"TODO\\|FIXME\" | sort -u > "
    "/tmp/out; "
    "for f in $(git ls-files); do wc -l \"$f\"; done";

void ShellSplit(benchmark::State& state) {
  for (auto _ : state) ODY_CHECK(rules::SplitShell(kPipeline).ok());
}
BENCHMARK(ShellSplit);

void ToolRulesDecide(benchmark::State& state) {
  std::vector<std::string> ask;
  for (int i = 0; i < state.range(0); ++i) ask.push_back("Bash(tool" + std::to_string(i) + ":*)");
  const Result<rules::ToolRules> parsed = rules::Parse({"Bash"}, ask, {"Bash(curl:*)"});
  ODY_CHECK(parsed.ok());
  const rules::ToolCall call{.name = "Bash", .command = kPipeline};
  for (auto _ : state) ODY_CHECK(rules::Decide(*parsed, call).ok());
}
BENCHMARK(ToolRulesDecide)->Arg(10)->Arg(500);

void SeccompFilterBuild(benchmark::State& state) {
  for (auto _ : state) {
    ODY_CHECK(seccomp::BuildFilter({.kind = seccomp::FilterKind::kCommand}).ok());
  }
}
BENCHMARK(SeccompFilterBuild);

}  // namespace
}  // namespace odyssey::bench
