#ifndef ODYSSEY_POLICY_COMPILE_COMPILE_FIXTURE_H_
#define ODYSSEY_POLICY_COMPILE_COMPILE_FIXTURE_H_

// What tests of the compiler share: a request that has to compile, and what its plan has.

#include <string>

#include <gtest/gtest.h>

#include "policy/compile/compile.h"

namespace odyssey::compile {

inline Compiled ExpectCompiles(const policy::SandboxRequest& request, const HostFacts& facts,
                               const FoundExecutables& found = {}) {
  const Result<Compiled> compiled = Compile(request, facts, found);
  EXPECT_TRUE(compiled.ok()) << compiled.status().ToString();
  return compiled.ok() ? *compiled : Compiled{};
}

// nullptr: nothing of the plan is there.
inline const plan::Entry* Find(const Compiled& compiled, const std::string& target) {
  for (const plan::Entry& entry : compiled.plan.entries) {
    if (entry.target == target) return &entry;
  }
  return nullptr;
}

}  // namespace odyssey::compile

#endif  // ODYSSEY_POLICY_COMPILE_COMPILE_FIXTURE_H_
