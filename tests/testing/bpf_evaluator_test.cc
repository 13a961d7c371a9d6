#include "tests/testing/bpf_evaluator.h"

#include <cstddef>

#include <gtest/gtest.h>

namespace odyssey::testing {
namespace {

uint32_t Answer(const std::vector<sock_filter>& program, const seccomp_data& data = {}) {
  const Result<Verdict> verdict = Evaluate(program, data);
  EXPECT_TRUE(verdict.ok()) << verdict.status().ToString();
  return verdict.ok() ? verdict->action : 0xdeadbeef;
}

bool IsRefused(const std::vector<sock_filter>& program) {
  return Evaluate(program, {}).status().code() == Code::kInvalidArgument;
}

TEST(BpfEvaluatorTest, LoadsComparesAndReturns) {
  const std::vector<sock_filter> program = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[1])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 7, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, 1),
      BPF_STMT(BPF_RET | BPF_K, 2),
  };
  EXPECT_EQ(Answer(program, {.args = {0, 7}}), 1u);
  EXPECT_EQ(Answer(program, {.args = {7, 8}}), 2u);
  EXPECT_EQ(Answer(program, {.args = {0, 0x100000007}}), 1u) << "the low half only";
}

TEST(BpfEvaluatorTest, KnowsEveryComparison) {
  const auto compare = [](int op, uint32_t value, uint32_t with) {
    return Answer({BPF_STMT(BPF_LD | BPF_IMM, value),
                   BPF_JUMP(static_cast<uint16_t>(BPF_JMP | op | BPF_K), with, 0, 1),
                   BPF_STMT(BPF_RET | BPF_K, 1), BPF_STMT(BPF_RET | BPF_K, 0)});
  };
  EXPECT_EQ(compare(BPF_JGT, 5, 5), 0u);
  EXPECT_EQ(compare(BPF_JGT, 6, 5), 1u);
  EXPECT_EQ(compare(BPF_JGE, 5, 5), 1u);
  EXPECT_EQ(compare(BPF_JGE, 4, 5), 0u);
  EXPECT_EQ(compare(BPF_JSET, 6, 2), 1u);
  EXPECT_EQ(compare(BPF_JSET, 5, 2), 0u);
}

TEST(BpfEvaluatorTest, CalculatesAndRemembers) {
  EXPECT_EQ(Answer({BPF_STMT(BPF_LD | BPF_IMM, 0xff), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x3c),
                    BPF_STMT(BPF_ST, 3), BPF_STMT(BPF_LD | BPF_IMM, 0),
                    BPF_STMT(BPF_LD | BPF_MEM, 3), BPF_STMT(BPF_RET | BPF_A, 0)}),
            0x3cu);
}

TEST(BpfEvaluatorTest, JumpsFar) {
  EXPECT_EQ(Answer({BPF_STMT(BPF_JMP | BPF_JA, 1), BPF_STMT(BPF_RET | BPF_K, 1),
                    BPF_STMT(BPF_RET | BPF_K, 2)}),
            2u);
}

TEST(BpfEvaluatorTest, RefusesWhatTheKernelWould) {
  EXPECT_TRUE(IsRefused({}));
  EXPECT_TRUE(IsRefused({BPF_STMT(BPF_LD | BPF_IMM, 0)}));
  EXPECT_TRUE(IsRefused({BPF_STMT(BPF_LD | BPF_W | BPF_ABS, sizeof(seccomp_data))}));
  EXPECT_TRUE(IsRefused({BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 2)}));
  EXPECT_TRUE(IsRefused({BPF_STMT(BPF_LD | BPF_MEM, BPF_MEMWORDS)}));
  EXPECT_TRUE(IsRefused({BPF_STMT(BPF_JMP | BPF_JA, 5), BPF_STMT(BPF_RET | BPF_K, 0)}));
}

}  // namespace
}  // namespace odyssey::testing
