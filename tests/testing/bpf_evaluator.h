#ifndef ODYSSEY_TESTS_TESTING_BPF_EVALUATOR_H_
#define ODYSSEY_TESTS_TESTING_BPF_EVALUATOR_H_

// Runs a seccomp filter as the kernel would, without a kernel: classic BPF over struct
// seccomp_data, limited to the instructions that seccomp(2) takes.

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace odyssey::testing {

// What a program answered and how many instructions that took.
struct Verdict {
  uint32_t action = 0;  // SECCOMP_RET_…, with its data
  size_t steps = 0;
};

// INVALID_ARGUMENT for a program that the kernel would refuse: an unknown instruction, a jump or
// load out of bounds, or an end without return.
Result<Verdict> Evaluate(std::span<const sock_filter> program, const seccomp_data& data);

// The instructions in `bytes`; a rest that is no whole instruction is dropped.
std::vector<sock_filter> ToProgram(std::string_view bytes);

}  // namespace odyssey::testing

#endif  // ODYSSEY_TESTS_TESTING_BPF_EVALUATOR_H_
