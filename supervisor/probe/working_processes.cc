// Processes, threads, signals and time: what has to work.

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>

#include <algorithm>
#include <atomic>

#include "common/os/unique_fd.h"
#include "supervisor/probe/answers.h"
#include "supervisor/probe/groups.h"

namespace odyssey::probe {
namespace {

constexpr int kCode = 42;

Finding Fork(const Targets&) {
  const pid_t child = fork();
  if (child == 0) _exit(kCode);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return BrokenAt("fork and wait");
  return WorksIf(WIFEXITED(status) && WEXITSTATUS(status) == kCode, "the exit status");
}

Finding ManyProcesses(const Targets&) {
  constexpr int kChildren = 16;
  for (int i = 0; i < kChildren; ++i) {
    const pid_t child = fork();
    if (child < 0) return BrokenAt("fork");
    if (child == 0) _exit(kCode);
  }
  for (int i = 0; i < kChildren; ++i) {
    if (wait(nullptr) < 0) return BrokenAt("wait");
  }
  return Works();
}

std::atomic<int> counter{0};  // of the threads below

Finding Threads(const Targets&) {
  pthread_t threads[8];
  for (pthread_t& thread : threads) {
    const auto body = [](void*) -> void* {
      ++counter;
      return nullptr;
    };
    errno = pthread_create(&thread, nullptr, body, nullptr);
    if (errno != 0) return BrokenAt("pthread_create");
  }
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  return WorksIf(counter == 8, "threads");
}

Finding Pipes(const Targets&) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return BrokenAt("pipe");
  const pid_t child = fork();
  if (child == 0) _exit(write(ends[1], "hello", 5) == 5 ? 0 : 1);
  char text[8] = "";
  return WorksIf(read(ends[0], text, sizeof(text)) == 5 && std::string(text, 5) == "hello", "pipe");
}

Finding PseudoTerminal(const Targets&) {
  const UniqueFd master(open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!master || unlockpt(master.get()) != 0) return BrokenAt("open /dev/ptmx");
  const UniqueFd slave(ioctl(master.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  const winsize size{40, 100, 0, 0};
  if (!slave || ioctl(master.get(), TIOCSWINSZ, &size) != 0) return BrokenAt("its other end");
  termios settings{};
  if (tcgetattr(slave.get(), &settings) != 0) return BrokenAt("tcgetattr");
  char text[8] = "";
  if (write(slave.get(), "hi", 2) != 2) return BrokenAt("write");
  return WorksIf(read(master.get(), text, sizeof(text)) == 2, "read");
}

Finding ControllingTerminal(const Targets&) {
  signal(SIGHUP, SIG_IGN);  // sent to the session's leader when the terminal ends
  const UniqueFd master(open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!master || unlockpt(master.get()) != 0) return BrokenAt("open /dev/ptmx");
  const UniqueFd slave(ioctl(master.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (ioctl(slave.get(), TIOCSCTTY, 0) != 0) return BrokenAt("take it as the terminal");
  const UniqueFd tty(open("/dev/tty", O_RDWR | O_CLOEXEC));
  return WorksIf(tty && tcsetpgrp(tty.get(), getpgrp()) == 0, "/dev/tty");
}

volatile sig_atomic_t caught = 0;

Finding Signals(const Targets&) {
  struct sigaction action {};
  action.sa_handler = [](int) { caught = 1; };
  if (sigaction(SIGUSR1, &action, nullptr) != 0) return BrokenAt("sigaction");
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) _exit(kill(parent, SIGUSR1) == 0 ? 0 : 1);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WorksIf(caught == 1, "a signal from a child");
}

Finding SignalDescriptor(const Targets&) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  const UniqueFd fd(signalfd(-1, &set, SFD_CLOEXEC));
  if (!fd || raise(SIGUSR2) != 0) return BrokenAt("signalfd");
  signalfd_siginfo info;
  return WorksIf(read(fd.get(), &info, sizeof(info)) == sizeof(info), "read");
}

Finding TimerDescriptor(const Targets&) {
  const UniqueFd fd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
  itimerspec when{};
  when.it_value.tv_nsec = 1'000'000;
  if (!fd || timerfd_settime(fd.get(), 0, &when, nullptr) != 0) return BrokenAt("timerfd");
  uint64_t times = 0;
  return WorksIf(read(fd.get(), &times, sizeof(times)) == sizeof(times) && times > 0, "read");
}

Finding PosixTimer(const Targets&) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGALRM);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  timer_t timer;
  itimerspec when{};
  when.it_value.tv_nsec = 1'000'000;
  if (timer_create(CLOCK_MONOTONIC, nullptr, &timer) != 0) return BrokenAt("timer_create");
  if (timer_settime(timer, 0, &when, nullptr) != 0) return BrokenAt("timer_settime");
  return WorksIf(sigwaitinfo(&set, nullptr) == SIGALRM, "sigwaitinfo");
}

Finding Clocks(const Targets&) {
  timespec now{}, resolution{};
  for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID}) {
    if (clock_gettime(clock, &now) != 0 || clock_getres(clock, &resolution) != 0) {
      return BrokenAt("clock_gettime");
    }
  }
  const timespec moment{0, 1000};
  return WorksIf(clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, nullptr) == 0, "clock_nanosleep");
}

Finding Events(const Targets&) {
  const UniqueFd event(eventfd(0, EFD_CLOEXEC));
  const UniqueFd poller(epoll_create1(EPOLL_CLOEXEC));
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  if (!event || epoll_ctl(poller.get(), EPOLL_CTL_ADD, event.get(), &wanted) != 0) {
    return BrokenAt("epoll");
  }
  const uint64_t one = 1;
  if (write(event.get(), &one, sizeof(one)) != sizeof(one)) return BrokenAt("eventfd");
  epoll_event seen{};
  return WorksIf(epoll_wait(poller.get(), &seen, 1, -1) == 1, "epoll_wait");
}

Finding ProcessDescriptor(const Targets&) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  if (!process || syscall(SYS_pidfd_send_signal, process.get(), SIGTERM, nullptr, 0) != 0) {
    return BrokenAt("pidfd");
  }
  pollfd polled{process.get(), POLLIN, 0};
  return WorksIf(poll(&polled, 1, -1) == 1, "poll");
}

// A debugger's work on its own child.
Finding Debugger(const Targets&) {
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);
    raise(SIGSTOP);
    _exit(kCode);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return BrokenAt("PTRACE_TRACEME");
  user_regs_struct registers{};
  if (ptrace(PTRACE_GETREGS, child, nullptr, &registers) != 0) return BrokenAt("PTRACE_GETREGS");
  errno = 0;
  ptrace(PTRACE_PEEKTEXT, child, reinterpret_cast<void*>(registers.rip), nullptr);
  if (errno != 0) return BrokenAt("PTRACE_PEEKTEXT");
  if (ptrace(PTRACE_CONT, child, nullptr, nullptr) != 0) return BrokenAt("PTRACE_CONT");
  waitpid(child, &status, 0);
  return WorksIf(WIFEXITED(status) && WEXITSTATUS(status) == kCode, "the exit status");
}

Finding Sessions(const Targets&) {
  const pid_t child = fork();
  if (child == 0) _exit(setsid() > 0 && getsid(0) == getpid() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return WorksIf(status == 0, "setsid");
}

Finding Memory(const Targets&) {
  const size_t size = 8 << 20;
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return BrokenAt("mmap");
  static_cast<char*>(memory)[size - 1] = 'x';
  memory = mremap(memory, size, size * 2, MREMAP_MAYMOVE);
  if (memory == MAP_FAILED) return BrokenAt("mremap");
  return WorksIf(madvise(memory, size, MADV_DONTNEED) == 0 && munmap(memory, size * 2) == 0,
                 "madvise");
}

// What compilers of running programs do: write code, then execute it.
Finding JustInTime(const Targets&) {
  constexpr unsigned char kReturn42[] = {0xb8, 42, 0, 0, 0, 0xc3};  // mov eax, 42; ret
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return BrokenAt("mmap");
  for (size_t i = 0; i < sizeof(kReturn42); ++i)
    static_cast<unsigned char*>(memory)[i] = kReturn42[i];
  if (mprotect(memory, 4096, PROT_READ | PROT_EXEC) != 0) return BrokenAt("mprotect");
  return WorksIf(reinterpret_cast<int (*)()>(memory)() == kCode, "the code");
}

// A cell keeps a low priority that its supervisor was started with, so lower than now.
Finding Scheduling(const Targets&) {
  constexpr int kLowest = 19;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return BrokenAt("sched_getaffinity");
  if (sched_setaffinity(0, sizeof(set), &set) != 0) return BrokenAt("sched_setaffinity");
  const int lower = std::min(getpriority(PRIO_PROCESS, 0) + 1, kLowest);
  return WorksIf(setpriority(PRIO_PROCESS, 0, lower) == 0 && sched_yield() == 0, "setpriority");
}

Finding Limits(const Targets&) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < 64) return BrokenAt("getrlimit");
  limit.rlim_cur = 32;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return BrokenAt("setrlimit");
  return WorksIf(prctl(PR_SET_NAME, "renamed") == 0, "prctl");
}

Finding OwnProc(const Targets&) {
  for (const char* name : {"status", "maps", "stat", "cmdline", "limits", "mountinfo"}) {
    if (Slurp(std::string("/proc/self/") + name).empty()) return BrokenAt(name);
  }
  for (const char* name : {"meminfo", "cpuinfo", "stat", "uptime", "version", "loadavg"}) {
    if (Slurp(std::string("/proc/") + name).empty()) return BrokenAt(name);
  }
  return Works();
}

// A program that confines itself further, as browsers and agents do.
Finding OwnLandlock(const Targets&) {
  const uint64_t handled = 1;  // LANDLOCK_ACCESS_FS_EXECUTE
  const UniqueFd ruleset(
      static_cast<int>(syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0)));
  if (!ruleset && errno == EOPNOTSUPP) return NotApplicable("this kernel has no Landlock");
  if (!ruleset || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return BrokenAt("make a ruleset");
  return WorksIf(syscall(SYS_landlock_restrict_self, ruleset.get(), 0) == 0, "enter it");
}

}  // namespace

void AddWorkingProcesses(Probes* all) {
  const auto add = [all](const char* id, const char* what, Attempt attempt) {
    all->push_back({std::string("works.") + id, what, "", std::move(attempt)});
  };
  add("fork", "fork, wait, exit status", Fork);
  add("many_processes", "sixteen processes at once", ManyProcesses);
  add("threads", "eight threads", Threads);
  add("pipes", "a pipe between processes", Pipes);
  add("pseudo_terminal", "a pseudo-terminal of its own", PseudoTerminal);
  add("controlling_terminal", "/dev/tty, job control", ControllingTerminal);
  add("signals", "handlers, signals between own processes", Signals);
  add("signalfd", "signals by descriptor", SignalDescriptor);
  add("timerfd", "timers by descriptor", TimerDescriptor);
  add("timers", "POSIX timers", PosixTimer);
  add("clocks", "clocks and sleep", Clocks);
  add("events", "epoll and eventfd", Events);
  add("pidfd", "processes by descriptor", ProcessDescriptor);
  add("debugger", "ptrace of an own child", Debugger);
  add("sessions", "sessions of one's own", Sessions);
  add("memory", "mapping, growing and dropping memory", Memory);
  add("just_in_time", "executing code that was made in memory", JustInTime);
  add("scheduling", "affinity, a lower priority", Scheduling);
  add("own_limits", "limits of one's own, lowered; a name", Limits);
  add("proc", "/proc of oneself and of the machine's load", OwnProc);
  add("landlock", "confining oneself further", OwnLandlock);
}

}  // namespace odyssey::probe
