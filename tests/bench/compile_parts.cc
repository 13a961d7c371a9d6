// From a request to a plan: what a cell costs before root hears of it.

#include <string>

#include <benchmark/benchmark.h>

#include "common/base/status.h"
#include "policy/compile/compile.h"
#include "policy/model/request.h"

namespace odyssey::bench {
namespace {

// The host of a merged-/usr Debian.
compile::HostFacts TypicalFacts() {
  compile::HostFacts facts;
  facts.landlock = {landlock::Probe::kInForce, 6};
  for (const char* directory : {"/usr", "/opt", "/etc/ssl", "/etc/alternatives"}) {
    facts.system.push_back({.path = directory});
  }
  for (const char* name : {"bin", "lib", "lib64", "sbin"}) {
    facts.system.push_back(
        {.path = std::string("/") + name, .link_target = std::string("usr/") + name});
  }
  return facts;
}

void CompilePolicy(benchmark::State& state) {
  const compile::HostFacts facts = TypicalFacts();
  policy::SandboxRequest request;
  for (int i = 0; i < 4; ++i) {
    const std::string number = std::to_string(i);
    request.mounts.push_back({.source = "/srv/data/" + number,
                              .target = "/workspace/mount/read/abs/srv/data/" + number});
    request.env["NAME_" + number] = "value";
  }
  for (auto _ : state) ODY_CHECK(compile::Compile(request, facts).ok());
}
BENCHMARK(CompilePolicy);

}  // namespace
}  // namespace odyssey::bench
