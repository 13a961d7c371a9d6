#include "tests/integration/cell_probe.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace odyssey::testing {
namespace {

namespace fs = std::filesystem;

constexpr char kPrelude[] = R"(
import ctypes, errno, os, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
def report(name, value):
    print(f'{name}={value}', flush=True)
def attempt(name, function):
    try:
        function()
        report(name, 'ok')
    except OSError as error:
        report(name, errno.errorcode.get(error.errno, str(error)))
def call(number, *arguments):
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = libc.syscall(ctypes.c_long(number), *words)
    if result < 0:
        raise OSError(ctypes.get_errno(), 'system call %d' % number)
    return result
def try_call(name, number, *arguments):
    attempt(name, lambda: call(number, *arguments))
)";

std::set<pid_t> PidsIn(const std::string& group) {
  std::set<pid_t> pids;
  std::istringstream text(Slurp(group + "/cgroup.procs"));
  for (pid_t pid; text >> pid;) pids.insert(pid);
  return pids;
}

}  // namespace

Findings Probe(SupervisorHarness* supervisor, const std::string& cell_id, const std::string& script,
               const ExecOptions& options) {
  const ExecResult result = supervisor->Python(cell_id, ProbeScript(script), options);
  EXPECT_TRUE(result.Exited(0)) << result.ToString();
  return FindingsOf(result.out);
}

std::string ProbeScript(const std::string& script) { return kPrelude + script; }

Findings FindingsOf(const std::string& out) {
  Findings findings;
  for (const std::string& line : Lines(out)) {
    const size_t equals = line.find('=');
    if (equals != std::string::npos) findings[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return findings;
}

bool IsRefusal(const std::string& finding) {
  return finding == "EROFS" || finding == "EACCES" || finding == "EPERM";
}

void ExpectAll(const Findings& findings, const std::vector<std::string>& allowed, size_t least) {
  EXPECT_GE(findings.size(), least);
  for (const auto& [name, value] : findings) {
    EXPECT_NE(std::find(allowed.begin(), allowed.end(), value), allowed.end())
        << name << ": " << value;
  }
}

void ExpectAllRefused(const Findings& findings, size_t least) {
  ExpectAll(findings, {"EROFS", "EACCES", "EPERM"}, least);
}

std::vector<std::string> ExplanationOf(SupervisorHarness* supervisor, const std::string& cell_id) {
  grpc::ClientContext context;
  v1::DescribeCellRequest request;
  request.set_cell_id(cell_id);
  v1::DescribeCellResponse response;
  EXPECT_TRUE(supervisor->stub()->DescribeCell(&context, request, &response).ok());
  return {response.plan().begin(), response.plan().end()};
}

void GrantNoProtection(const SupervisorHarness& supervisor) {
  fs::create_directory(supervisor.policy_directory());
  std::ofstream(supervisor.policy_directory() + "/none.yaml")
      << "version: odyssey.ceiling/v1\nbuiltin: false\n"
         "grants: [{users: ['*'], write: [/], protection: [none]}]\n";
}

pid_t AwaitProcess(uid_t uid, const std::string& name) {
  pid_t found = -1;
  (void)Eventually([&] {
    for (const pid_t pid : SupervisorHarness::ProcessesOf(uid)) {
      if (CommandName(pid) == name) found = pid;
    }
    return found > 0;
  });
  return found;
}

std::string Slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  return text.str();
}

std::string StatusField(pid_t pid, const std::string& name) {
  for (const std::string& line : Lines(Slurp("/proc/" + std::to_string(pid) + "/status"))) {
    if (line.rfind(name + ":", 0) != 0) continue;
    const size_t begin = line.find_first_not_of(" \t", name.size() + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "(no such field)";
}

std::vector<std::string> GroupsOf(const SupervisorHarness& supervisor, uid_t uid) {
  std::vector<std::string> groups;
  const std::vector<pid_t> wanted = SupervisorHarness::ProcessesOf(uid);
  for (const std::string& tree : CgroupsOf(supervisor.keeper())) {
    for (const auto& entry : fs::directory_iterator(tree)) {
      if (!entry.is_directory()) continue;
      const std::set<pid_t> members = PidsIn(entry.path());
      const bool holds = std::any_of(wanted.begin(), wanted.end(),
                                     [&](pid_t pid) { return members.count(pid) != 0; });
      if (holds) groups.push_back(entry.path());
    }
  }
  return groups;
}

std::vector<pid_t> MembersOf(const SupervisorHarness& supervisor, uid_t uid) {
  std::set<pid_t> members;
  for (const std::string& group : GroupsOf(supervisor, uid)) members.merge(PidsIn(group));
  EXPECT_FALSE(members.empty());
  return {members.begin(), members.end()};
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace odyssey::testing
