// Executing what the policy does not name: files that an agent wrote, by every way to run them.

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common/os/unique_fd.h"
#include "supervisor/probe/answers.h"
#include "supervisor/probe/groups.h"

namespace odyssey::probe {
namespace {

constexpr char kSafe[] = "EACCES or EPERM";
constexpr char kLayer[] = "noexec; Landlock";
constexpr unsigned kExecutable = 0x10;  // MFD_EXEC, newer than Debian 12's headers
constexpr unsigned kNoExecSeal = 0x08;  // MFD_NOEXEC_SEAL
constexpr long kExecveatEmpty = AT_EMPTY_PATH;

Finding AllMayExecute() { return NotApplicable("in this cell everything may be executed"); }

Finding FindingOf(const Ended& ended) {
  if (ended.Exited(kOrdinary) || ended.Exited(kPrivileged)) return Escaped("it ran");
  if (!ended.started && (ended.error == EACCES || ended.error == EPERM)) {
    return Contained(ErrnoText(ended.error));
  }
  if (ended.started) return Contained("it was not loaded");
  return Broken(ErrnoText(ended.error));
}

std::string Program(const Targets& targets) { return targets.Text("bin") + "/odyssey-probe"; }

// A copy of this program in `directory`; false if nothing can be written there.
bool CopyTo(const Targets& targets, const std::string& path) {
  return CopyFile(Program(targets), path);
}

Finding RunFrom(const std::string& directory, const Targets& targets) {
  if (targets.Is("executables", "all")) return AllMayExecute();
  const std::string path = directory + "/odyssey-probe-copy";
  if (!CopyTo(targets, path)) {
    const int error = errno;
    unlink(path.c_str());
    if (error == EROFS || error == EACCES) return NotApplicable("nothing can be written there");
    return Broken("copy to " + path + ": " + ErrnoText(error));
  }
  const Finding finding = FindingOf(Execute({path, "identity"}));
  unlink(path.c_str());
  return finding;
}

void AddPlaces(Probes* all) {
  const auto add = [all](const std::string& name,
                         std::function<std::string(const Targets&)> where) {
    all->push_back({"execute.from:" + name, kSafe, kLayer,
                    [where = std::move(where)](const Targets& t) { return RunFrom(where(t), t); }});
  };
  const auto of_environment = [](const char* name) {
    const char* value = getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
    return std::string(value == nullptr ? "/nonexistent" : value);
  };
  add("workspace", [](const Targets& t) { return t.Text("workspace"); });
  add("write_mount", [](const Targets& t) { return t.Text("rw"); });
  for (const char* name : {"HOME", "TMPDIR", "XDG_CACHE_HOME"}) {
    add(name, [of_environment, name](const Targets&) { return of_environment(name); });
  }
  for (const char* path : {"/tmp", "/var/tmp", "/dev/shm"}) {
    add(path, [path](const Targets&) { return std::string(path); });
  }
}

// A page of the file that may be executed is all that a loader needs.
Finding MapExecutable(bool later, const Targets& targets) {
  if (targets.Is("executables", "all")) return AllMayExecute();
  if (!Spit("code", std::string(4096, '\xc3'))) return BrokenAt("make a file");
  const UniqueFd fd(open("code", O_RDONLY | O_CLOEXEC));
  const int first = later ? PROT_READ : PROT_READ | PROT_EXEC;
  void* memory = mmap(nullptr, 4096, first, MAP_PRIVATE, fd.get(), 0);
  if (memory == MAP_FAILED) return MustBeRefused({-1, errno});
  if (!later) return Escaped("it was mapped");
  return MustBeRefused(Answered(mprotect(memory, 4096, PROT_READ | PROT_EXEC)));
}

Finding ThroughTheLoader(const Targets& targets) {
  if (targets.Is("executables", "all")) return AllMayExecute();
  if (!CopyFile("/bin/true", "mine")) return NotApplicable("there is no /bin/true to copy");
  const Ended ended = Execute({"/lib64/ld-linux-x86-64.so.2", "./mine"});
  return ended.Exited(0) ? Escaped("it ran") : Contained("it was not loaded");
}

Finding Script(const Targets& targets) {
  if (targets.Is("executables", "all")) return AllMayExecute();
  if (!Spit("script", "#!/bin/sh\nexit 42\n", 0700)) return BrokenAt("make a script");
  return FindingOf(Execute({"./script"}));
}

Finding Unlinked(const Targets& targets) {
  if (targets.Is("executables", "all")) return AllMayExecute();
  if (!CopyTo(targets, "mine")) return BrokenAt("copy a program");
  const UniqueFd fd(open("mine", O_PATH | O_CLOEXEC));
  unlink("mine");
  return FindingOf(Execute({"/proc/self/fd/" + std::to_string(fd.get()), "identity"}));
}

Finding MemoryFile(unsigned flags, const Targets& targets) {
  const UniqueFd fd(static_cast<int>(syscall(SYS_memfd_create, "odyssey-probe", flags)));
  if (!fd) return MustBeRefused({-1, errno});
  const std::string program = Slurp(Program(targets), SIZE_MAX);
  if (write(fd.get(), program.data(), program.size()) < 0) return BrokenAt("write");
  return FindingOf(Execute({"/proc/self/fd/" + std::to_string(fd.get()), "identity"}));
}

// Sealed against execve, but what a loader maps it does not execute.
Finding MappedMemoryFile(const Targets&) {
  const UniqueFd fd(static_cast<int>(syscall(SYS_memfd_create, "odyssey-probe", kNoExecSeal)));
  if (!fd) return MustBeRefused({-1, errno});
  if (ftruncate(fd.get(), 4096) != 0) return BrokenAt("ftruncate");
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd.get(), 0);
  return MustBeRefused({memory == MAP_FAILED ? -1 : 0, errno});
}

// `directory_fd` and `path` as execveat(2) takes them.
Finding ExecuteAt(int directory_fd, const char* path, long flags) {
  const pid_t child = fork();
  if (child == 0) {
    const char* const words[] = {"odyssey-probe", "identity", nullptr};
    syscall(SYS_execveat, directory_fd, path, words, words + 2, flags);
    _exit(errno);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return BrokenAt("wait");
  const int code = WEXITSTATUS(status);
  if (code == kOrdinary || code == kPrivileged) return Escaped("it ran");
  return MustBeRefused({-1, code});
}

// What policy lets be executed, but by its descriptor alone: the way to run what has no name.
Finding BareDescriptor(const Targets& targets) {
  const UniqueFd fd(open(Program(targets).c_str(), O_RDONLY | O_CLOEXEC));
  return ExecuteAt(fd.get(), "", kExecveatEmpty);
}

Finding WrittenAt(const Targets& targets) {
  if (targets.Is("executables", "all")) return AllMayExecute();
  if (!CopyTo(targets, "mine")) return BrokenAt("copy a program");
  return ExecuteAt(AT_FDCWD, "mine", 0);
}

Finding Unnamed(const std::string& path, const Targets& targets) {
  if (!targets.Is("executables", "explicit")) {
    return NotApplicable("in this cell the system's programs may be executed");
  }
  if (access(path.c_str(), F_OK) != 0) return Contained("it is not there");
  const Ended ended = Execute({path, "--version"});
  if (ended.started) return Escaped("it ran");
  return MustBeRefused({-1, ended.error});
}

}  // namespace

void AddExecuteProbes(Probes* all) {
  AddPlaces(all);
  const auto add = [all](const std::string& id, Attempt attempt) {
    all->push_back({"execute." + id, kSafe, kLayer, std::move(attempt)});
  };
  add("mapped", [](const Targets& t) { return MapExecutable(false, t); });
  add("mapped_later", [](const Targets& t) { return MapExecutable(true, t); });
  add("loader", ThroughTheLoader);
  add("script", Script);
  add("unlinked", Unlinked);
  add("execveat", WrittenAt);
  for (const char* path : {"/bin/sh", "/usr/bin/env", "/usr/bin/python3", "/usr/bin/perl"}) {
    add(std::string("unnamed:") + path, [path](const Targets& t) { return Unnamed(path, t); });
  }
  const auto add_filtered = [all](const std::string& id, Attempt attempt) {
    all->push_back({"execute." + id, kSafe, "seccomp", std::move(attempt)});
  };
  add_filtered("bare_descriptor", BareDescriptor);
  add_filtered("memory_file", [](const Targets& t) { return MemoryFile(0, t); });
  add_filtered("memory_file_executable",
               [](const Targets& t) { return MemoryFile(kExecutable, t); });
  add_filtered("memory_file_mapped", MappedMemoryFile);
}

}  // namespace odyssey::probe
