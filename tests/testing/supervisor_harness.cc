#include "tests/testing/supervisor_harness.h"

#include <errno.h>
#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "common/os/file.h"
#include "tests/testing/machine.h"

namespace odyssey::testing {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxMessage = 17 * 1024 * 1024;
constexpr int kPollStepMs = 10;
constexpr uid_t kRpcUid = 0x6fff0001;  // odyssey-supervisor's default
// A range of uids for the cells of each test process: below those that real supervisors use, and
// as far apart as a supervisor has cells.
constexpr uid_t kFirstUid = 0x10000000;
constexpr uid_t kUidsPerSupervisor = 4096;
constexpr uid_t kUidRanges = 0x50000000 / kUidsPerSupervisor;

std::string Slurp(const std::string& path) {
  const auto text = ReadFile(path, 1 << 22);
  return text.ok() ? *text : "";
}

// Starts the program; its stdout is `out`, its stderr `err`.
pid_t Spawn(const std::vector<std::string>& words, int out, int err) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(out, 1);
    dup2(err, 2);
    execv(argv[0], argv.data());
    _exit(127);
  }
  return pid;
}

bool AwaitReady(int fd) {
  std::string said;
  char buffer[256];
  while (said.find("ready\n") == std::string::npos) {
    const ssize_t n = read(fd, buffer, sizeof(buffer));
    if (n <= 0) return false;
    said.append(buffer, static_cast<size_t>(n));
  }
  return true;
}

std::vector<pid_t> AllPids() {
  std::vector<pid_t> pids;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") == std::string::npos) pids.push_back(std::stoi(name));
  }
  return pids;
}

// The real uid; nothing if there is no such process.
std::optional<uid_t> UidOf(pid_t pid) {
  // The directory's owner may be root for a process that is not dumpable: ask status.
  std::istringstream status(Slurp("/proc/" + std::to_string(pid) + "/status"));
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("Uid:", 0) == 0) return static_cast<uid_t>(std::stoul(line.substr(4)));
  }
  return std::nullopt;
}

std::vector<pid_t> ProcessesBetween(uid_t first, uid_t last) {
  std::vector<pid_t> found;
  for (const pid_t pid : AllPids()) {
    const auto uid = UidOf(pid);
    if (uid && *uid >= first && *uid <= last) found.push_back(pid);
  }
  return found;
}

bool HoldsOnlyRoot(const fs::path& group) {
  std::istringstream members(Slurp(group / "cgroup.procs"));
  int count = 0;
  for (pid_t pid; members >> pid; ++count) {
    const auto uid = UidOf(pid);
    if (uid && *uid != 0) return false;
  }
  return count > 0;
}

}  // namespace

std::string ProgramDirectory() {
  return (fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "bin").string();
}

std::string ExecResult::ToString() const {
  return status.ToString() + " | " + outcome.ShortDebugString() +
         " | stdout: " + out.substr(0, 2000) + " | stderr: " + err.substr(0, 2000);
}

SupervisorHarness::SupervisorHarness(const std::string& danger_grants) {
  directory_ = (fs::temp_directory_path() / "odyssey-test-XXXXXX").string();
  if (mkdtemp(directory_.data()) == nullptr) abort();
  chmod(directory_.c_str(), 0755);
  uid_base_ = kFirstUid + static_cast<uid_t>(getpid()) % kUidRanges * kUidsPerSupervisor;
  if (!danger_grants.empty()) std::ofstream(danger_grant_file()) << danger_grants;
  if (!Start()) ADD_FAILURE() << "odyssey-supervisor did not become ready: " << Log();
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessage);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // A daemon that comes back is found at once.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 20);
  // Despite its name the time that one attempt has.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 10'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 100);
  channel_ =
      grpc::CreateCustomChannel("unix:" + socket(), grpc::InsecureChannelCredentials(), arguments);
  stub_ = v1::Supervisor::NewStub(channel_);
}

bool SupervisorHarness::Start() {
  const UniqueFd log(
      open((directory_ + "/log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  int ends[2];
  if (!log || pipe2(ends, O_CLOEXEC) != 0) abort();
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  pid_ = Spawn({ProgramDirectory() + "/odyssey-supervisor", "--state", directory_ + "/state",
                "--run", directory_ + "/run", "--policy", policy_directory(), "--uid-base",
                std::to_string(uid_base_), "--danger-grants", danger_grant_file()},
               writer.get(), log.get());
  writer.reset();
  return AwaitReady(reader.get());
}

void SupervisorHarness::KillKeeper() {
  SignalProcess(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

bool SupervisorHarness::Restart() {
  // A call that still took the connection to the dead one would break with it.
  const auto deadline = std::chrono::system_clock::now() + kHang;
  if (channel_->GetState(false) == GRPC_CHANNEL_READY) {
    channel_->WaitForStateChange(GRPC_CHANNEL_READY, deadline);
  }
  if (Start()) return true;
  waitpid(pid_, nullptr, 0);
  return false;
}

SupervisorHarness::~SupervisorHarness() {
  stub_.reset();
  SignalProcess(pid_, SIGTERM);
  int status = 0;
  waitpid(pid_, &status, 0);
  EXPECT_EQ(status, 0) << Log();
  // The last ones to die are init's children by then, for it to reap.
  EXPECT_TRUE(Eventually([this] { return CellProcesses().empty(); }));
  EXPECT_TRUE(CgroupsOf(pid_).empty());
  EXPECT_FALSE(fs::exists(socket()));
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

v1::PrepareCellRequest SupervisorHarness::Request(const std::string& component) {
  v1::PrepareCellRequest request;
  request.mutable_key()->set_agent_id("test");
  request.mutable_key()->set_kind("tooling");
  request.mutable_key()->set_component(component);
  request.mutable_sandbox()->set_mode(policy::v1::MODE_WORKSPACE_WRITE);
  request.mutable_sandbox()->set_network(policy::v1::NETWORK_NONE);
  request.mutable_sandbox()->set_executables_mode(policy::v1::EXECUTABLES_MODE_STANDARD);
  request.set_ephemeral(true);
  return request;
}

Result<v1::CellInfo> SupervisorHarness::Prepare(const v1::PrepareCellRequest& request) {
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  context.set_deadline(std::chrono::system_clock::now() + kHang);
  v1::PrepareCellResponse response;
  const grpc::Status status = stub_->PrepareCell(&context, request, &response);
  if (!status.ok()) {
    return Status(static_cast<Code>(status.error_code()), status.error_message());
  }
  return response.cell();
}

Status SupervisorHarness::Check(const v1::PrepareCellRequest& request) {
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  context.set_deadline(std::chrono::system_clock::now() + kHang);
  v1::CheckCellRequest check;
  *check.mutable_cell() = request;
  v1::CheckCellResponse response;
  const grpc::Status status = stub_->CheckCell(&context, check, &response);
  return Status(static_cast<Code>(status.error_code()), status.error_message());
}

std::string SupervisorHarness::Cell(const v1::PrepareCellRequest& request) {
  const auto info = Prepare(request);
  EXPECT_TRUE(info.ok()) << info.status().ToString() << "\n" << Log();
  return info.ok() ? info->cell_id() : "";
}

ExecResult SupervisorHarness::Exec(const std::string& cell_id, const std::vector<std::string>& argv,
                                   const ExecOptions& options) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 2 * kHang);
  const auto stream = stub_->Exec(&context);
  v1::ExecRequest request;
  v1::ExecStart* start = request.mutable_start();
  start->set_cell_id(cell_id);
  for (const std::string& word : argv) start->add_argv(word);
  start->set_cwd(options.cwd);
  start->mutable_env()->insert(options.env.begin(), options.env.end());
  start->set_open_stdin(!options.input.empty());
  start->set_wall_clock_ms(options.wall_clock_ms);
  start->set_stdout_cap_bytes(options.stdout_cap);
  start->set_run_id(options.run_id);
  start->set_keep_output(options.keep_output);
  if (options.terminal) {
    start->mutable_terminal()->set_rows(24);
    start->mutable_terminal()->set_columns(80);
  }
  stream->Write(request);
  if (!options.input.empty()) {
    request.set_stdin(options.input);
    stream->Write(request);
    request.set_stdin_eof(true);
    stream->Write(request);
  }

  ExecResult result;
  for (v1::ExecResponse response; stream->Read(&response);) {
    if (response.has_output()) {
      std::string& text =
          response.output().stream() == v1::OUTPUT_STREAM_STDERR ? result.err : result.out;
      text += response.output().data();
    }
    if (response.has_started()) result.run_id = response.started().run_id();
    if (response.has_denial()) result.denials.push_back(response.denial());
    if (response.has_outcome()) result.outcome = response.outcome();
  }
  const grpc::Status status = stream->Finish();
  result.status = Status(static_cast<Code>(status.error_code()), status.error_message());
  return result;
}

ExecResult SupervisorHarness::Shell(const std::string& cell_id, const std::string& script,
                                    const ExecOptions& options) {
  return Exec(cell_id, {"/bin/sh", "-c", script}, options);
}

ExecResult SupervisorHarness::Python(const std::string& cell_id, const std::string& script,
                                     const ExecOptions& options) {
  return Exec(cell_id, {"/usr/bin/python3", "-c", script}, options);
}

Status SupervisorHarness::Remove(const std::string& cell_id, bool purge) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kHang);
  v1::RemoveCellRequest request;
  request.set_cell_id(cell_id);
  request.set_purge(purge);
  v1::RemoveCellResponse response;
  const grpc::Status status = stub_->RemoveCell(&context, request, &response);
  return Status(static_cast<Code>(status.error_code()), status.error_message());
}

std::string SupervisorHarness::WhyNoDeniedNames() {
  if (WhyNoFuse().empty()) return "";
  const std::string tree = directory_ + "/denied";
  fs::create_directory(tree);
  v1::PrepareCellRequest request = Request("denied");
  request.set_workspace(tree);
  request.mutable_sandbox()->add_deny("**/.env");
  const auto cell = Prepare(request);
  EXPECT_FALSE(cell.ok()) << "a cell without FUSE guards nothing";
  const std::string message = cell.status().message();
  EXPECT_NE(message.find("deny: "), std::string::npos) << message;
  EXPECT_NE(message.find("/dev/fuse"), std::string::npos) << message;
  return "this machine has no FUSE: " + WhyNoFuse();
}

pid_t SupervisorHarness::worker() const {
  for (const pid_t child : ChildrenOf(pid_)) {  // the host runner is another
    if (CommandName(child) == CommandName(pid_)) return child;
  }
  return -1;
}

pid_t SupervisorHarness::rpc() const {
  for (const pid_t child : ChildrenOf(worker())) {
    if (UidOf(child) == kRpcUid) return child;
  }
  return -1;
}

std::vector<pid_t> SupervisorHarness::ProcessesOf(uid_t uid) { return ProcessesBetween(uid, uid); }

std::vector<pid_t> SupervisorHarness::CellProcesses() const {
  return ProcessesBetween(uid_base_, uid_base_ + kUidsPerSupervisor - 1);
}

std::vector<std::string> SupervisorHarness::CellGroups() const {
  std::vector<std::string> groups;
  for (const std::string& tree : CgroupsOf(pid_)) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(tree, error)) {
      if (entry.is_directory(error) && !HoldsOnlyRoot(entry.path())) groups.push_back(entry.path());
    }
  }
  return groups;
}

std::string SupervisorHarness::Log() const { return Slurp(directory_ + "/log"); }

bool Eventually(const std::function<bool()>& done) {
  const auto end = std::chrono::steady_clock::now() + kHang;
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    poll(nullptr, 0, kPollStepMs);
  }
  return true;
}

void WithTimeEnough(const std::function<bool(uint32_t wall_clock_ms)>& attempt) {
  constexpr std::chrono::milliseconds kFirst{500}, kLast = kHang;
  for (auto wall_clock = kFirst; wall_clock < kLast; wall_clock *= 2) {
    if (attempt(static_cast<uint32_t>(wall_clock.count()))) return;
  }
  ADD_FAILURE() << "no wall clock was long enough";
}

pid_t ParentOf(pid_t pid) {
  const std::string stat = Slurp("/proc/" + std::to_string(pid) + "/stat");
  const size_t end = stat.rfind(')');
  if (end == std::string::npos) return -1;
  char state;
  int parent = -1;
  sscanf(stat.c_str() + end + 1, " %c %d", &state, &parent);
  return parent;
}

bool SignalProcess(pid_t pid, int signal) {
  EXPECT_GT(pid, 1) << "no process to signal";
  return pid > 1 && kill(pid, signal) == 0;
}

std::vector<pid_t> ChildrenOf(pid_t parent) {
  std::vector<pid_t> children;
  for (const pid_t pid : AllPids()) {
    if (ParentOf(pid) == parent) children.push_back(pid);
  }
  return children;
}

std::string CommandName(pid_t pid) {
  std::string name = Slurp("/proc/" + std::to_string(pid) + "/comm");
  if (!name.empty()) name.pop_back();
  return name;
}

std::vector<std::string> CgroupsOf(pid_t keeper) {
  std::vector<std::string> found;
  const std::string name = "odyssey-" + std::to_string(keeper);
  std::error_code error;
  for (fs::recursive_directory_iterator it("/sys/fs/cgroup", error), end; it != end;
       it.increment(error)) {
    if (it->path().filename() == name) found.push_back(it->path());
  }
  return found;
}

}  // namespace odyssey::testing
