// `odyssey-ctl doctor --probe`: nothing escapes and everything works in cells of every mode; and
// the mirror of it, in which every probe is seen to fail: what cannot report an escape proves
// nothing.

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "common/os/file.h"
#include "ctl/doctor/probe_canaries.h"
#include "ctl/doctor/probe_host_words.h"
#include "ctl/doctor/probe_report.h"
#include "supervisor/probe/groups.h"
#include "supervisor/probe/runner.h"
#include "tests/integration/cell_probe.h"
#include "tests/integration/throwaway_host.h"
#include "tests/testing/machine.h"

namespace odyssey::testing {
namespace {

namespace fs = std::filesystem;

using ctl::ProbeResult;
using ctl::ProbeVerdict;

struct Ended {
  int code = -1;
  std::string out;
};

// Runs a program; its stderr is ours.
Ended RunProgram(const std::vector<std::string>& argv, const std::vector<std::string>& env) {
  std::vector<char*> words, variables;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  for (const std::string& word : env) variables.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  variables.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) abort();
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(writer.get(), STDOUT_FILENO);
    execve(words[0], words.data(), variables.data());
    _exit(127);
  }
  writer.reset();
  Ended ended;
  char buffer[65536];
  for (ssize_t n; (n = read(reader.get(), buffer, sizeof(buffer))) > 0;) {
    ended.out.append(buffer, static_cast<size_t>(n));
  }
  int status = 0;
  waitpid(pid, &status, 0);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ended;
}

// ---- in cells

Ended Doctor(const SupervisorHarness& supervisor, const std::vector<std::string>& options) {
  std::vector<std::string> argv = {ProgramDirectory() + "/odyssey-ctl"};
  argv.insert(argv.end(), options.begin(), options.end());
  return RunProgram(argv,
                    {"PATH=/usr/bin:/bin", "ODYSSEY_SUPERVISOR_SOCKET=" + supervisor.socket()});
}

// As odyssey-probe says it of what no policy takes away. That it says so where there is nothing to
// protect, and there alone, is seen in the mirror.
bool MachineLacksIt(const std::string& detail) {
  for (const char* begin :
       {"the host has no ", "this kernel has no", "this kernel does not have"}) {
    if (detail.rfind(begin, 0) == 0) return true;
  }
  return false;
}

class ProbeTest : public ::testing::Test {
 protected:
  SupervisorHarness supervisor_;
};

TEST_F(ProbeTest, NothingEscapesAndEverythingWorksInEveryMode) {
  const Ended doctor = Doctor(supervisor_, {"-o", "json", "doctor", "--probe"});
  const auto report = ctl::Json::parse(doctor.out, nullptr, false);
  ASSERT_TRUE(report.is_object()) << doctor.out;
  for (const auto& cell : report["cells"]) {
    // With the host's network a cell needs what keeps it from the host's abstract sockets.
    const bool full = cell["name"].get<std::string>().find("network full") != std::string::npos;
    const bool possible = !full || LandlockAbi() >= kLandlockScopes;
    EXPECT_EQ(cell["offered"], possible) << cell.dump();
    const std::string why = possible ? "" : cell.value("why", "");
    EXPECT_EQ(why.find("scope_abstract_socket") == std::string::npos, possible) << cell.dump();
  }
  EXPECT_EQ(report["cells"].size(), 6u);

  std::map<std::string, std::set<std::string>> tried;  // class → ids that applied somewhere
  for (const auto& result : report["results"]) {
    const std::string verdict = result["verdict"];
    EXPECT_TRUE(verdict == "contained" || verdict == "works" || verdict == "not_applicable")
        << result.dump();
    const std::string id = result["id"];
    // What this machine has not may be what the cell has not: asked outside the cell.
    if (id.rfind("kernel.32_bit_", 0) == 0 && WhyNo32BitCalls().empty()) {
      EXPECT_EQ(verdict, "contained") << result.dump();
    }
    if (verdict != "not_applicable" || MachineLacksIt(result["detail"])) {
      tried[result["class"]].insert(id);
    }
  }
  for (const auto& [name, least] : std::map<std::string, size_t>{{"escape", 90},
                                                                 {"execute", 20},
                                                                 {"writes", 60},
                                                                 {"persist", 80},
                                                                 {"leak", 80},
                                                                 {"namespaces", 70},
                                                                 {"network", 120},
                                                                 {"kernel", 110},
                                                                 {"limits", 15},
                                                                 {"works", 60}}) {
    EXPECT_GE(tried[name].size(), least) << name;
  }
  EXPECT_EQ(report["good"], true);
  EXPECT_EQ(doctor.code, 0);
}

TEST_F(ProbeTest, LeavesNothingBehind) {
  const Ended doctor = Doctor(supervisor_, {"doctor", "--probe"});
  EXPECT_EQ(doctor.code, 0) << doctor.out;
  EXPECT_TRUE(Eventually([&] { return supervisor_.CellProcesses().empty(); }));
  v1::ListCellsResponse cells;
  grpc::ClientContext context;
  ASSERT_TRUE(supervisor_.stub()->ListCells(&context, {}, &cells).ok());
  EXPECT_EQ(cells.cells_size(), 0);
}

// ---- the mirror

void Must(bool good, const std::string& what) {
  if (good) return;
  fprintf(stderr, "%s: %s\n", what.c_str(), strerrordesc_np(errno));
  _exit(1);
}

void MustBeOk(const Status& status) {
  if (status.ok()) return;
  fprintf(stderr, "%s\n", status.ToString().c_str());
  _exit(1);
}

// The rest of `id` behind `prefix`, or "".
std::string After(const std::string& id, const std::string& prefix) {
  return id.rfind(prefix, 0) == 0 ? id.substr(prefix.size()) : "";
}

void MakeParents(const std::string& path) {
  MustBeOk(MakeDirectories(fs::path(path).parent_path(), 0755));
}

void MakeFile(const std::string& path) {
  // In the kernel's own file systems nobody can make one.
  if (access(path.c_str(), F_OK) == 0 || path.rfind("/proc/", 0) == 0 ||
      path.rfind("/sys/", 0) == 0) {
    return;
  }
  MakeParents(path);
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  Must(write(fd.get(), "text\n", 5) == 5, path);
}

// Somebody at that Unix address; "@name" is abstract. It stays as long as this process.
void ListenAt(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, name.data(), name.size());
  const bool abstract = name[0] == '@';
  if (abstract) {
    address.sun_path[0] = '\0';
  } else {
    MakeParents(name);
    unlink(name.c_str());
  }
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  Must(bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 && listen(fd, 8) == 0, name);
}

// By the kernel's own list, below two lines that are none.
std::vector<std::string> Disks() {
  std::vector<std::string> names;
  std::istringstream lines(Slurp("/proc/partitions"));
  std::string line;
  for (int number = 0; std::getline(lines, line); ++number) {
    if (number >= 2) names.push_back(line.substr(line.rfind(' ') + 1));
  }
  return names;
}

// Puts there what the probes look for and this machine does not have.
void MakeWhatIsLookedFor(const probe::Probes& probes) {
  const auto each = [&](const std::string& prefix, void (*make)(const std::string&)) {
    for (const probe::Probe& one : probes) {
      if (const std::string name = After(one.id, prefix); !name.empty()) make(name);
    }
  };
  // Sockets first: what they lie in is looked for, too.
  each("network.socket:", ListenAt);
  each("leak.path:", MakeFile);
  each("writes.open:", MakeFile);
  each("writes.make_in:", [](const std::string& path) { MustBeOk(MakeDirectories(path, 0755)); });
  each("escape.open:", [](const std::string& path) {
    MakeParents(path);
    if (access(path.c_str(), F_OK) != 0) mknod(path.c_str(), S_IFCHR | 0600, makedev(1, 3));
  });
  // Control groups, by their files: one lies in another.
  for (const std::string group : {"/sys/fs/cgroup", "/sys/fs/cgroup/other"}) {
    MustBeOk(MakeDirectories(group, 0755));
    Must(mknod((group + "/cgroup.procs").c_str(), S_IFREG | 0644, 0) == 0, group);
  }
  unlink("/etc/resolv.conf");  // a link, perhaps, that leads nowhere here
  MakeFile("/etc/resolv.conf");
  // Disks, by name; what opens is null, since a container keeps disks from root, too.
  for (const std::string& name : Disks()) {
    const std::string path = "/dev/" + name;
    unlink(path.c_str());
    MakeParents(path);
    Must(mknod(path.c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0, path);
  }
}

struct Kind {
  const char* mode;
  const char* executables;
  const char* tree;
};

// What root on a host has that a command in a cell has not.
std::vector<std::string> WordsOf(const Kind& kind, const ctl::ProbeCanaries& canaries,
                                 const std::string& directory) {
  std::vector<std::string> words = {std::string("mode=") + kind.mode,
                                    std::string("executables=") + kind.executables,
                                    std::string("tree=") + kind.tree,
                                    "network=none",
                                    "workspace=" + directory + "/workspace",
                                    "bin=" + directory + "/bin",
                                    "ro=" + directory + "/ro",
                                    "rw=" + directory + "/rw",
                                    "socket=" + directory + "/outside/canary-stream",
                                    "own=/proc",
                                    "sibling=beside",
                                    "neighbour=other",
                                    "neighbour_tcp=4919",
                                    "neighbour_key=325521",
                                    "neighbour_abstract=of-the-other",
                                    "pids=32",
                                    "tmp_bytes=1048576",
                                    "open_files=64"};
  for (const auto& more : {canaries.Words(), ctl::ProbeHostWords()}) {
    words.insert(words.end(), more.begin(), more.end());
  }
  return words;
}

void StartLingering(const std::string& program, const std::vector<std::string>& roles) {
  std::vector<std::string> argv = {program, "linger"};
  argv.insert(argv.end(), roles.begin(), roles.end());
  std::vector<char*> words;
  for (std::string& word : argv) words.push_back(word.data());
  words.push_back(nullptr);
  int ends[2];
  Must(pipe(ends) == 0, "pipe");
  if (fork() == 0) {
    dup2(ends[1], STDOUT_FILENO);
    execv(words[0], words.data());
    _exit(127);
  }
  close(ends[1]);
  char text[8];
  Must(read(ends[0], text, sizeof(text)) == 6, "wait for " + roles[0]);
  close(ends[0]);
}

// A careless host: everything that a launcher may leave lying about.
void BeCareless(const ctl::ProbeCanaries& canaries) {
  const gid_t groups[] = {4242};
  Must(setgroups(1, groups) == 0, "setgroups");
  const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
  setrlimit(RLIMIT_CORE, &unlimited);
  Must(open(canaries.Secret().c_str(), O_RDONLY) >= 0, "leave a file open");  // NOLINT: on purpose
  Must(WriteAll(UniqueFd(open("/proc/sys/net/ipv4/ping_group_range", O_WRONLY | O_CLOEXEC)).get(),
                "0 0")
           .ok(),
       "allow pings");
}

// In a throw-away host: lays the canaries, and runs the program with no confinement at all.
void RunUnconfined(const std::string& program) {
  const std::string directory = "/tmp/probe";
  MustBeOk(MakeDirectories(directory + "/program", 0755));
  const std::string own = directory + "/program/odyssey-probe";
  const UniqueFd file(open(own.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0755));
  MustBeOk(WriteAll(file.get(), program));
  MustBeOk(MakeDirectories(directory + "/laid", 0755));
  auto canaries = ctl::ProbeCanaries::Lay({.directory = directory + "/laid",
                                           .program = own,
                                           .protected_names = {".git/hooks/", ".envrc"}});
  MustBeOk(canaries.status());
  const std::string laid = directory + "/laid";
  StartLingering(laid + "/bin/odyssey-probe", {"name=beside"});
  StartLingering(laid + "/bin/odyssey-probe",
                 {"name=other", "tcp=4919", "key=325521", "abstract=of-the-other"});
  BeCareless(**canaries);
  const std::vector<std::string> environment = {"PATH=/usr/bin:/bin",
                                                "HOME=/root",
                                                "TMPDIR=/tmp",
                                                (*canaries)->Variable(),
                                                "XDG_CACHE_HOME=/var/tmp",
                                                "XDG_DATA_HOME=/var/tmp"};
  bool made = false;
  for (const Kind& kind :
       {Kind{"read_only", "explicit", "memory"}, Kind{"workspace_write", "standard", "host"}}) {
    const std::vector<std::string> words = WordsOf(kind, **canaries, laid);
    probe::Targets targets;
    std::string error;
    for (const std::string& word : words) Must(targets.Add(word, &error), error);
    if (!std::exchange(made, true)) MakeWhatIsLookedFor(probe::AllProbes(targets));
    std::vector<std::string> argv = {laid + "/bin/odyssey-probe", "run"};
    argv.insert(argv.end(), words.begin(), words.end());
    const Ended ended = RunProgram(argv, environment);
    Must(ended.code == 0, "odyssey-probe");
    MustBeOk(WriteAll(STDOUT_FILENO, ended.out));
  }
  std::string text;
  for (const ProbeResult& result : (*canaries)->Check("host", /*network_full=*/false)) {
    text += "{\"id\":\"" + result.id + "\",\"verdict\":\"" +
            std::string(ctl::ProbeVerdictName(result.verdict)) + "\"}\n";
  }
  MustBeOk(WriteAll(STDOUT_FILENO, text));
}

// Has this process the right, on its machine?
bool IsCapable(int capability) {
  return (strtoull(StatusField(getpid(), "CapEff").c_str(), nullptr, 16) >> capability & 1) != 0;
}

// Why a probe cannot report an escape here: "" if it has to.
std::string WhyNot(const std::string& id) {
  constexpr int kResources = 24;   // CAP_SYS_RESOURCE, which containers lack
  constexpr int kPriorities = 23;  // CAP_SYS_NICE, the same
  if (id.rfind("kernel.32_bit_", 0) == 0) return WhyNo32BitCalls();
  if (id.rfind("kernel.x32_", 0) == 0) return WhyNoX32Calls();
  if (id == "limits.real_time" || id == "limits.round_robin") return WhyNoRealTime();
  if ((id == "limits.nice" || id == "limits.deadline") && !IsCapable(kPriorities)) {
    return "no right to raise priorities";
  }
  if ((id == "limits.raise_open_files" || id == "limits.oom_score") && !IsCapable(kResources)) {
    return "no right to raise limits";
  }
  const std::string path = After(id, "leak.path:");
  const bool of_kernel = path.rfind("/sys/", 0) == 0 || path.rfind("/proc/", 0) == 0;
  if (of_kernel && access(path.c_str(), F_OK) != 0) return "this kernel does not have it";
  const std::string said = After(id, "leak.says_nothing:");
  if (fs::is_directory(said) && fs::is_empty(said)) return "this kernel has nothing in it";
  if (id == "kernel.capabilities:CapInh" || id == "kernel.capabilities:CapAmb") {
    return "root has these sets empty by itself";
  }
  if (id == "escape.open_disks" && Disks().empty()) return "this machine has no disk";
  // Looked at by the host, and destroyed by no probe: see probe_tamper_test.cc.
  for (const char* own : {"escape.host_sysctls", "leak.host_ipc", "leak.host_key",
                          "leak.host_process", "escape.host_set_id_files"}) {
    if (id == own) return "no probe destroys it";
  }
  return "";
}

TEST(ProbeMirrorTest, EveryProbeReportsAnEscapeWhereNothingConfines) {
  const auto program = ReadFile(ProgramDirectory() + "/odyssey-probe", 64 << 20);
  ASSERT_TRUE(program.ok()) << program.status().ToString();
  const std::string said = InThrowawayHost([&] { RunUnconfined(*program); });

  std::map<std::string, std::set<std::string>> verdicts;  // id → what it said
  std::map<std::string, std::string> details;
  std::istringstream lines(said);
  for (std::string line; std::getline(lines, line);) {
    const auto json = ctl::Json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("id")) continue;
    verdicts[json["id"]].insert(json["verdict"].get<std::string>());
    details[json["id"]] += json.value("detail", "") + "; ";
  }
  size_t escaped = 0, impossible = 0;
  for (const auto& [id, seen] : verdicts) {
    // By now this host is ruined: what has to work is looked at below, on another one.
    if (!After(id, "works.").empty()) continue;
    if (seen.count("ESCAPED") != 0) {
      ++escaped;
    } else if (details[id].rfind("this kernel does not have", 0) == 0 || !WhyNot(id).empty()) {
      ++impossible;
    } else {
      ADD_FAILURE() << id << ": " << *seen.begin() << ": " << details[id];
    }
  }
  EXPECT_GE(escaped + impossible, 500u);
  EXPECT_GT(escaped, impossible);
}

// As in a cell that may do all that a cell may, on a host that nobody touched.
void WorkUnconfined(const std::string& program) {
  const std::string directory = "/tmp/probe";
  for (const char* path : {"", "/program", "/laid", "/home", "/scratch"}) {
    MustBeOk(MakeDirectories(directory + path, 0755));
  }
  const std::string own = directory + "/program/odyssey-probe";
  const UniqueFd file(open(own.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0755));
  MustBeOk(WriteAll(file.get(), program));
  const std::string laid = directory + "/laid";
  auto canaries = ctl::ProbeCanaries::Lay({.directory = laid, .program = own});
  MustBeOk(canaries.status());
  probe::Targets targets;
  std::string error;
  for (std::string word : WordsOf({"workspace_write", "all", "host"}, **canaries, laid)) {
    if (word == "network=none") word = "network=full";
    Must(targets.Add(word, &error), error);
  }
  for (const char* name : {"HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_DATA_HOME"}) {
    setenv(name, (directory + "/home").c_str(), 1);  // NOLINT(concurrency-mt-unsafe): one thread
  }
  for (const probe::Probe& one : probe::AllProbes(targets)) {
    if (!one.IsFunctional()) continue;
    const probe::Finding found = RunProbe(one, targets, directory + "/scratch");
    MustBeOk(WriteAll(STDOUT_FILENO, FormatResult(one, found) + "\n"));
  }
}

TEST(ProbeMirrorTest, WhatHasToWorkWorksWhereNothingConfines) {
  const auto program = ReadFile(ProgramDirectory() + "/odyssey-probe", 64 << 20);
  ASSERT_TRUE(program.ok()) << program.status().ToString();
  std::istringstream lines(InThrowawayHost([&] { WorkUnconfined(*program); }));
  size_t works = 0, lacks = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto json = ctl::Json::parse(line, nullptr, false);
    ASSERT_TRUE(json.is_object()) << line;
    const bool lacking = json["verdict"] == "not_applicable" && MachineLacksIt(json["detail"]);
    EXPECT_TRUE(lacking || json["verdict"] == "works") << line;
    ++(lacking ? lacks : works);
  }
  EXPECT_GE(works + lacks, 70u);
}

}  // namespace
}  // namespace odyssey::testing
