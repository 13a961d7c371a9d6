#include "tests/integration/injected_call.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

namespace odyssey::testing {
namespace {

constexpr unsigned long kRedZone = 128;    // below the stack pointer, the process's own
constexpr unsigned long kInstruction = 2;  // the length of "syscall"

// Stops the process where it enters a system call, for as long as this lives. It need not wait in
// one at first: it may as well run, and goes on until its next one.
class Tracer final {
 public:
  explicit Tracer(pid_t pid) : pid_(pid) {
    EXPECT_EQ(ptrace(PTRACE_SEIZE, pid, nullptr, PTRACE_O_TRACESYSGOOD), 0) << strerror(errno);
    EXPECT_EQ(ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr), 0) << strerror(errno);
    // What the interrupt ended the kernel begins anew, or its caller does.
    stopped_ = AwaitStop() && GoOnTo(PTRACE_SYSCALL_INFO_ENTRY);
    if (!stopped_) return;
    EXPECT_EQ(ptrace(PTRACE_GETREGS, pid, nullptr, &entry_), 0) << strerror(errno);
  }
  ~Tracer() {
    if (!stopped_) return;
    // Back before its own call, which it makes when it goes on.
    user_regs_struct registers = entry_;
    registers.rip -= kInstruction;
    registers.rax = entry_.orig_rax;
    registers.orig_rax = ~0UL;  // nothing to restart
    EXPECT_EQ(ptrace(PTRACE_SETREGS, pid_, nullptr, &registers), 0) << strerror(errno);
    EXPECT_EQ(ptrace(PTRACE_DETACH, pid_, nullptr, nullptr), 0) << strerror(errno);
  }
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  bool stopped() const { return stopped_; }

  // Returns where the text is.
  unsigned long Put(const std::string& text) const {
    const unsigned long address = (entry_.rsp - kRedZone - text.size() - 1) & ~7UL;
    for (size_t i = 0; i <= text.size(); i += sizeof(long)) {
      long word = 0;
      memcpy(&word, text.c_str() + i, std::min(sizeof(word), text.size() + 1 - i));
      EXPECT_EQ(ptrace(PTRACE_POKEDATA, pid_, address + i, word), 0) << strerror(errno);
    }
    return address;
  }

  // In place of its own. The kernel asks filters after the tracer, so they judge this call.
  long Call(long number, const std::array<unsigned long, 4>& arguments) {
    user_regs_struct registers = entry_;
    registers.orig_rax = static_cast<unsigned long>(number);
    registers.rdi = arguments[0];
    registers.rsi = arguments[1];
    registers.rdx = arguments[2];
    registers.r10 = arguments[3];
    EXPECT_EQ(ptrace(PTRACE_SETREGS, pid_, nullptr, &registers), 0) << strerror(errno);
    stopped_ = GoOnTo(PTRACE_SYSCALL_INFO_EXIT);
    if (!stopped_) return 0;
    EXPECT_EQ(ptrace(PTRACE_GETREGS, pid_, nullptr, &registers), 0) << strerror(errno);
    return static_cast<long>(registers.rax);
  }

 private:
  // False, and the test fails, if the process ended.
  bool AwaitStop() {
    EXPECT_EQ(waitpid(pid_, &status_, __WALL), pid_);
    EXPECT_TRUE(WIFSTOPPED(status_)) << status_;
    return WIFSTOPPED(status_);
  }

  // Signals that arrive meanwhile are the process's.
  int SignalToDeliver() const {
    const bool event = status_ >> 16 != 0;
    const int signal = WSTOPSIG(status_);
    return event || signal == (SIGTRAP | 0x80) ? 0 : signal;
  }

  bool GoOnTo(uint8_t operation) {
    __ptrace_syscall_info info{};
    while (info.op != operation) {
      EXPECT_EQ(ptrace(PTRACE_SYSCALL, pid_, nullptr, SignalToDeliver()), 0) << strerror(errno);
      if (!AwaitStop()) return false;
      EXPECT_GT(ptrace(PTRACE_GET_SYSCALL_INFO, pid_, sizeof(info), &info), 0) << strerror(errno);
    }
    return true;
  }

  const pid_t pid_;
  int status_ = 0;
  bool stopped_ = false;
  user_regs_struct entry_{};
};

}  // namespace

long Inject(pid_t pid, const InjectedCall& call) {
  EXPECT_GT(pid, 1) << "no process to trace";
  if (pid <= 1) return 0;
  Tracer tracer(pid);
  if (!tracer.stopped()) return 0;
  std::array<unsigned long, 4> arguments = call.arguments;
  if (!call.text.empty()) arguments[1] = tracer.Put(call.text);
  return tracer.Call(call.number, arguments);
}

}  // namespace odyssey::testing
