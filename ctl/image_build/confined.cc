#include "ctl/image_build/confined.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <iterator>
#include <vector>

#include "common/os/file.h"
#include "common/os/unique_fd.h"

namespace odyssey::ctl {
namespace {

// A list of a million headers, and no more.
constexpr size_t kMaxAnswerBytes = size_t{512} << 20;
constexpr rlim_t kMaxMemory = rlim_t{2} << 30;

#if defined(__x86_64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_X86_64;
constexpr unsigned kForeignBit = 0x40000000;  // of x32
#elif defined(__aarch64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_AARCH64;
constexpr unsigned kForeignBit = 0x80000000;  // none has it
#else
#error "which architecture the filter is for"
#endif

// What copying, decompressing and malloc do. No call takes a path, makes a descriptor or a process.
constexpr unsigned kAllowed[] = {
    __NR_read,       __NR_write,        __NR_lseek,          __NR_fstat,    __NR_mmap,  __NR_munmap,
    __NR_mremap,     __NR_brk,          __NR_madvise,        __NR_mprotect, __NR_futex, __NR_exit,
    __NR_exit_group, __NR_rt_sigreturn, __NR_rt_sigprocmask, __NR_getrandom};

sock_filter Jump(unsigned code, unsigned value, unsigned char yes, unsigned char no) {
  return BPF_JUMP(BPF_JMP | code | BPF_K, value, yes, no);
}
sock_filter Return(unsigned what) { return BPF_STMT(BPF_RET | BPF_K, what); }
sock_filter Load(size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offset));
}

// What glibc's fstat is on x86_64: newfstatat(fd, "", …, AT_EMPTY_PATH). With this flag alone.
constexpr unsigned kFlagsArgument = 3;

bool InstallFilter() {
  std::vector<sock_filter> filter = {
      Load(offsetof(seccomp_data, arch)), Jump(BPF_JEQ, kArchitecture, 1, 0),
      Return(SECCOMP_RET_KILL_PROCESS),   Load(offsetof(seccomp_data, nr)),
      Jump(BPF_JGE, kForeignBit, 0, 1),   Return(SECCOMP_RET_KILL_PROCESS)};
  for (const unsigned call : kAllowed) {
    filter.push_back(Jump(BPF_JEQ, call, 0, 1));
    filter.push_back(Return(SECCOMP_RET_ALLOW));
  }
  filter.push_back(Jump(BPF_JEQ, __NR_newfstatat, 0, 3));
  filter.push_back(Load(offsetof(seccomp_data, args) + kFlagsArgument * sizeof(uint64_t)));
  filter.push_back(Jump(BPF_JEQ, AT_EMPTY_PATH, 0, 1));
  filter.push_back(Return(SECCOMP_RET_ALLOW));
  // A library that tries something else goes on without it.
  filter.push_back(Return(SECCOMP_RET_ERRNO | EPERM));
  const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

[[noreturn]] void RunChild(const std::function<Result<std::string>()>& work, int output) {
  const rlimit memory = {kMaxMemory, kMaxMemory}, no_core = {0, 0};
  const bool confined = setrlimit(RLIMIT_AS, &memory) == 0 &&
                        setrlimit(RLIMIT_CORE, &no_core) == 0 && InstallFilter();
  std::string answer;
  if (!confined) {
    answer = std::to_string(static_cast<int>(Code::kInternal)) +
             "\nthe process that reads archives cannot be confined";
  } else {
    const Result<std::string> result = work();
    answer = std::to_string(static_cast<int>(result.status().code())) + "\n" +
             (result.ok() ? *result : result.status().message());
  }
  (void)WriteAll(output, answer);
  _exit(0);
}

// What the child wrote, once it has ended.
Result<std::string> ReadAnswer(int input, int signals) {
  std::string answer;
  std::string buffer(64 * 1024, '\0');
  for (;;) {
    pollfd polled[] = {{input, POLLIN, 0}, {signals, POLLIN, 0}};
    if (poll(polled, std::size(polled), -1) < 0) continue;
    if (polled[1].revents != 0) return Cancelled("interrupted");
    const ssize_t n = read(input, buffer.data(), buffer.size());
    if (n < 0) continue;
    if (n == 0) return answer;
    answer.append(buffer, 0, static_cast<size_t>(n));
    if (answer.size() > kMaxAnswerBytes) return ResourceExhausted("the archive's list is too long");
  }
}

}  // namespace

Result<std::string> RunConfined(const std::function<Result<std::string>()>& work, int signals) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "create pipe");
  const UniqueFd input(ends[0]);
  UniqueFd output(ends[1]);
  const pid_t child = fork();
  if (child < 0) return ErrnoStatus(errno, "create process");
  if (child == 0) RunChild(work, output.get());
  output.reset();
  const Result<std::string> answer = ReadAnswer(input.get(), signals);
  if (!answer.ok()) kill(child, SIGKILL);
  int ended = 0;
  while (waitpid(child, &ended, 0) < 0 && errno == EINTR) {
  }
  if (!answer.ok()) return answer.status();
  const size_t line = answer->find('\n');
  int code = 0;
  const auto [end, error] =
      std::from_chars(answer->data(), answer->data() + std::min(line, answer->size()), code);
  if (!WIFEXITED(ended) || line == std::string::npos || error != std::errc()) {
    return Status(Code::kInternal, "the process that reads archives ended without an answer");
  }
  std::string rest = answer->substr(line + 1);
  if (code != 0) return Status(static_cast<Code>(code), std::move(rest));
  return rest;
}

}  // namespace odyssey::ctl
