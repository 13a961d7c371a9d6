#include "tests/integration/injected_call.h"

#include <gtest/gtest.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

namespace odyssey::testing {
namespace {

constexpr unsigned long kRedZone = 128;     // below the stack pointer, the process's own
constexpr unsigned long kInstruction = 2;   // the length of "syscall"
constexpr unsigned long kSyscall = 0x050f;  // its bytes

// Stops the process for as long as this lives.
class Tracer final {
 public:
  explicit Tracer(pid_t pid) : pid_(pid) {
    EXPECT_EQ(ptrace(PTRACE_SEIZE, pid, nullptr, nullptr), 0) << strerror(errno);
    EXPECT_EQ(ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr), 0) << strerror(errno);
    AwaitStop();
    EXPECT_EQ(ptrace(PTRACE_GETREGS, pid, nullptr, &before_), 0) << strerror(errno);
  }
  ~Tracer() {
    // It goes on where it was interrupted: the kernel restarts its own call.
    EXPECT_EQ(ptrace(PTRACE_SETREGS, pid_, nullptr, &before_), 0);
    EXPECT_EQ(ptrace(PTRACE_DETACH, pid_, nullptr, nullptr), 0);
  }
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  // Returns where the text is.
  unsigned long Put(const std::string& text) const {
    const unsigned long address = (before_.rsp - kRedZone - text.size() - 1) & ~7UL;
    for (size_t i = 0; i <= text.size(); i += sizeof(long)) {
      long word = 0;
      memcpy(&word, text.c_str() + i, std::min(sizeof(word), text.size() + 1 - i));
      EXPECT_EQ(ptrace(PTRACE_POKEDATA, pid_, address + i, word), 0) << strerror(errno);
    }
    return address;
  }

  // By the instruction that it waits in.
  long Call(long number, const std::array<unsigned long, 4>& arguments) const {
    user_regs_struct registers = before_;
    registers.rip -= kInstruction;
    const long there = ptrace(PTRACE_PEEKTEXT, pid_, registers.rip, nullptr);
    EXPECT_EQ(static_cast<unsigned long>(there) & 0xffff, kSyscall) << "it waits in no call";
    registers.rax = static_cast<unsigned long>(number);
    registers.orig_rax = ~0UL;  // nothing to restart meanwhile
    registers.rdi = arguments[0];
    registers.rsi = arguments[1];
    registers.rdx = arguments[2];
    registers.r10 = arguments[3];
    EXPECT_EQ(ptrace(PTRACE_SETREGS, pid_, nullptr, &registers), 0) << strerror(errno);
    EXPECT_EQ(ptrace(PTRACE_SINGLESTEP, pid_, nullptr, nullptr), 0) << strerror(errno);
    AwaitStop();
    EXPECT_EQ(ptrace(PTRACE_GETREGS, pid_, nullptr, &registers), 0) << strerror(errno);
    return static_cast<long>(registers.rax);
  }

 private:
  void AwaitStop() const {
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, __WALL), pid_);
    EXPECT_TRUE(WIFSTOPPED(status)) << status;
  }

  const pid_t pid_;
  user_regs_struct before_{};
};

}  // namespace

long Inject(pid_t pid, const InjectedCall& call) {
  EXPECT_GT(pid, 1) << "no process to trace";
  if (pid <= 1) return 0;
  const Tracer tracer(pid);
  std::array<unsigned long, 4> arguments = call.arguments;
  if (!call.text.empty()) arguments[1] = tracer.Put(call.text);
  return tracer.Call(call.number, arguments);
}

}  // namespace odyssey::testing
