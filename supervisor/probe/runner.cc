#include "supervisor/probe/runner.h"

#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "common/os/unique_fd.h"
#include "supervisor/probe/answers.h"

namespace odyssey::probe {
namespace {

// Where a child leaves its finding: memory and not a pipe, so that it has no descriptor to stumble
// over.
struct Shared {
  Verdict verdict;
  char detail[1000];
};

class SharedFinding final {
 public:
  SharedFinding()
      : memory_(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                     -1, 0)) {}
  ~SharedFinding() {
    if (memory_ != MAP_FAILED) munmap(memory_, sizeof(Shared));
  }
  SharedFinding(const SharedFinding&) = delete;
  SharedFinding& operator=(const SharedFinding&) = delete;

  Shared* get() { return memory_ == MAP_FAILED ? nullptr : static_cast<Shared*>(memory_); }

 private:
  void* memory_;
};

[[noreturn]] void RunChild(const Probe& probe, const Targets& targets, const std::string& directory,
                           Shared* shared) {
  setsid();  // a group of its own, to be killed with everything that it started
  if (mkdir(directory.c_str(), 0700) != 0 || chdir(directory.c_str()) != 0) _exit(1);
  const Finding finding = probe.attempt(targets);
  strncpy(shared->detail, finding.detail.c_str(), sizeof(shared->detail) - 1);
  shared->verdict = finding.verdict;
  _exit(0);
}

// False if it still runs after that time.
bool AwaitEnd(pid_t child, std::chrono::milliseconds limit) {
  const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  pollfd polled{process.get(), POLLIN, 0};
  int ready = 0;
  do {
    ready = poll(&polled, 1, static_cast<int>(limit.count()));
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

Finding FindingOfEnd(const Probe& probe, int status, const Shared& shared) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    if (signal == SIGSYS && !probe.IsFunctional()) return Contained("killed by the filter: SIGSYS");
    return Broken("it ended by signal " + std::to_string(signal));
  }
  if (shared.verdict == Verdict::kNone) return Broken("it ended without an answer");
  return {shared.verdict, shared.detail};
}

int RemoveOne(const char* path, const struct stat*, int, FTW*) { return remove(path); }

void AppendString(std::string_view text, std::string* out) {
  *out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f || c == '"' || c == '\\') {
      char escape[8];
      snprintf(escape, sizeof(escape), "\\u%04x", byte);
      *out += escape;
    } else {
      *out += c;
    }
  }
  *out += '"';
}

void AppendField(std::string_view name, std::string_view value, std::string* out) {
  *out += *out == "{" ? "" : ",";
  AppendString(name, out);
  *out += ':';
  AppendString(value, out);
}

}  // namespace

Finding RunProbe(const Probe& probe, const Targets& targets, const std::string& scratch,
                 std::chrono::milliseconds limit) {
  SharedFinding shared;
  if (shared.get() == nullptr) return BrokenAt("mmap");
  std::string directory = scratch + "/" + probe.id;
  std::replace(directory.begin() + static_cast<long>(scratch.size()) + 1, directory.end(), '/',
               '_');

  const pid_t child = fork();
  if (child < 0) return BrokenAt("fork");
  if (child == 0) RunChild(probe, targets, directory, shared.get());
  const bool ended = AwaitEnd(child, limit);
  // Never a group 0 or -1: `child` is a positive number. It may have ended before setsid.
  if (kill(-child, SIGKILL) != 0) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  while (waitpid(-child, nullptr, 0) > 0) {  // what it started, ours by PR_SET_CHILD_SUBREAPER
  }
  nftw(directory.c_str(), RemoveOne, 8, FTW_DEPTH | FTW_PHYS);
  if (!ended) return Broken("no answer within " + std::to_string(limit.count()) + " ms");
  return FindingOfEnd(probe, status, *shared.get());
}

std::string FormatResult(const Probe& probe, const Finding& finding) {
  std::string out = "{";
  AppendField("id", probe.id, &out);
  AppendField("class", probe.Class(), &out);
  AppendField("kind", probe.IsFunctional() ? "functional" : "containment", &out);
  AppendField("verdict", VerdictName(finding.verdict), &out);
  AppendField("detail", finding.detail, &out);
  AppendField("safe", probe.safe, &out);
  AppendField("layer", probe.layer, &out);
  return out + "}";
}

}  // namespace odyssey::probe
