#ifndef ODYSSEY_TESTS_TESTING_SECCOMP_FIXTURE_H_
#define ODYSSEY_TESTS_TESTING_SECCOMP_FIXTURE_H_

// The programs as BuildFilter makes them, asked call by call.

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>

#include <cerrno>
#include <string>
#include <vector>

#include "policy/seccomp/filter.h"
#include "tests/testing/bpf_evaluator.h"

namespace odyssey::seccomp {

using testing::Evaluate;
using testing::ToProgram;
using testing::Verdict;

inline constexpr uint32_t kAllow = SECCOMP_RET_ALLOW;
inline constexpr uint32_t kDeny = SECCOMP_RET_ERRNO | EPERM;
inline constexpr uint32_t kTell = SECCOMP_RET_USER_NOTIF;
inline constexpr uint32_t kAbsent = SECCOMP_RET_ERRNO | ENOSYS;
inline constexpr uint32_t kNotDone = SECCOMP_RET_ERRNO;  // and no error
inline constexpr uint32_t kNoSuch = SECCOMP_RET_ERRNO | EINVAL;
inline constexpr uint32_t kKill = SECCOMP_RET_KILL_PROCESS;
inline constexpr uint64_t kHigh = 0x100000000;
inline constexpr uint64_t kMptcp = 262;

using Args = std::vector<uint64_t>;

// One call and what kCommand answers.
struct Case {
  int number;
  Args args;
  uint32_t command;
};

inline std::vector<sock_filter> Program(FilterKind kind) {
  const Result<std::string> bytes = BuildFilter({.kind = kind});
  EXPECT_TRUE(bytes.ok()) << bytes.status().ToString();
  return bytes.ok() ? ToProgram(*bytes) : std::vector<sock_filter>{};
}

inline const std::vector<sock_filter>& Command() {
  static const std::vector<sock_filter> program = Program(FilterKind::kCommand);
  return program;
}

inline const std::vector<sock_filter>& Notifying() {
  static const std::vector<sock_filter> program = Program(FilterKind::kNotifying);
  return program;
}

inline const std::vector<sock_filter>& NotifyingOfConnects() {
  static const std::vector<sock_filter> program = Program(FilterKind::kNotifyingOfConnects);
  return program;
}

inline const std::vector<sock_filter>& Build() {
  static const std::vector<sock_filter> program = Program(FilterKind::kBuild);
  return program;
}

inline const std::vector<sock_filter>& Init() {
  static const std::vector<sock_filter> program = Program(FilterKind::kInit);
  return program;
}

inline Verdict Ask(const std::vector<sock_filter>& program, int number, const Args& args = {},
                   uint32_t arch = AUDIT_ARCH_X86_64) {
  seccomp_data data = {.nr = number, .arch = arch};
  for (size_t i = 0; i < args.size(); ++i) data.args[i] = args[i];
  const Result<Verdict> verdict = Evaluate(program, data);
  EXPECT_TRUE(verdict.ok()) << verdict.status().ToString();
  return verdict.ok() ? *verdict : Verdict{};
}

inline std::string Describe(const Case& c) {
  std::string text = "call " + std::to_string(c.number) + "(";
  for (const uint64_t arg : c.args) text += std::to_string(arg) + " ";
  return text + ")";
}

// Allowed, but where somebody listens.
inline void ExpectNotified(int number, const Args& args) {
  EXPECT_EQ(Ask(Command(), number, args).action, kAllow) << Describe({number, args, kAllow});
  EXPECT_EQ(Ask(Notifying(), number, args).action, kTell) << Describe({number, args, kTell});
}

inline void ExpectCases(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    EXPECT_EQ(Ask(Command(), c.number, c.args).action, c.command) << Describe(c);
    const uint32_t telling = c.command == kDeny ? kTell : c.command;
    EXPECT_EQ(Ask(Notifying(), c.number, c.args).action, telling) << Describe(c);
  }
}

}  // namespace odyssey::seccomp

#endif  // ODYSSEY_TESTS_TESTING_SECCOMP_FIXTURE_H_
