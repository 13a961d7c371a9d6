#include "tests/bench/supervisor.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include <grpcpp/grpcpp.h>

#include "tests/bench/daemon.h"

namespace odyssey::bench {
namespace {

namespace v1 = ::odyssey::supervisor::v1;

constexpr int kMaxMessage = 16 * 1024 * 1024;
constexpr uint32_t kWallClockMs = 120'000;

Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return OkStatus();
  return {static_cast<Code>(status.error_code()), status.error_message()};
}

Result<std::string> MakeDirectory() {
  std::string directory = std::filesystem::temp_directory_path() / "odyssey-bench-XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) return ErrnoStatus(errno, "create " + directory);
  // The supervisor's unprivileged processes pass through it.
  if (chmod(directory.c_str(), 0755) != 0) return ErrnoStatus(errno, "chmod " + directory);
  return directory;
}

v1::CellKey KeyOf(const std::string& component) {
  v1::CellKey key;
  key.set_session_id("bench");
  key.set_agent_id("bench");
  key.set_kind("tooling");
  key.set_component(component);
  return key;
}

// Of a metric in Prometheus's text; -1: it is not there.
int64_t ValueOf(const std::string& text, const std::string& metric) {
  const size_t line = text.find("\n" + metric + " ");
  return line == std::string::npos ? -1 : atoll(text.c_str() + line + metric.size() + 2);
}

}  // namespace

Result<std::unique_ptr<Supervisor>> Supervisor::Start() {
  ODY_ASSIGN_OR_RETURN(std::string directory, MakeDirectory());
  std::unique_ptr<Supervisor> out(new Supervisor(std::move(directory)));
  ODY_RETURN_IF_ERROR(out->Launch());
  return out;
}

Status Supervisor::Launch() {
  ODY_ASSIGN_OR_RETURN(
      Child process,
      LaunchDaemon({"odyssey-supervisor", "--state", directory_ + "/state", "--run",
                    directory_ + "/run", "--client-uid", std::to_string(getuid()), "--bundle-store",
                    agentd_state() + "/bundles/trees", "--", "--pool-cells", "4"},
                   directory_ + "/log"));
  process_.emplace(std::move(process));
  return OkStatus();
}

Supervisor::~Supervisor() {
  if (process_) {
    kill(process_->pid(), SIGTERM);
    const Status status = process_->Wait();
    if (!status.ok()) fprintf(stderr, "odyssey-supervisor: %s\n", status.ToString().c_str());
  }
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

Client::Client(const Supervisor& supervisor) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessage);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of our own
  const auto channel = grpc::CreateCustomChannel("unix:" + supervisor.socket(),
                                                 grpc::InsecureChannelCredentials(), arguments);
  stub_ = v1::Supervisor::NewStub(channel);
  changes_ = v1::Changes::NewStub(channel);
  metrics_ = ops::v1::Metrics::NewStub(channel);
}

Result<v1::CellInfo> Client::PrepareCell(const CellOptions& options) {
  v1::PrepareCellRequest request;
  *request.mutable_key() = KeyOf(options.component);
  request.mutable_sandbox()->set_mode(policy::v1::MODE_WORKSPACE_WRITE);
  request.mutable_sandbox()->set_network(policy::v1::NETWORK_NONE);
  request.mutable_sandbox()->set_executables_mode(policy::v1::EXECUTABLES_MODE_STANDARD);
  if (options.reviewed) request.mutable_sandbox()->set_workspace_writes(policy::v1::WRITES_REVIEW);
  request.set_ephemeral(options.ephemeral);
  request.set_workspace(options.workspace);
  if (!options.pooled) request.set_bundle_digest(options.component);
  v1::PrepareCellResponse response;
  grpc::ClientContext context;
  ODY_RETURN_IF_ERROR(FromGrpc(stub_->PrepareCell(&context, request, &response)));
  return response.cell();
}

Status Client::RemoveCell(const std::string& cell_id) {
  v1::RemoveCellRequest request;
  request.set_cell_id(cell_id);
  request.set_purge(true);
  v1::RemoveCellResponse response;
  grpc::ClientContext context;
  return FromGrpc(stub_->RemoveCell(&context, request, &response));
}

Status Client::AwaitPool() {
  constexpr auto kHang = std::chrono::seconds(30);
  constexpr auto kStep = std::chrono::milliseconds(1);
  const auto deadline = std::chrono::steady_clock::now() + kHang;
  while (std::chrono::steady_clock::now() < deadline) {
    grpc::ClientContext context;
    ops::v1::GetMetricsResponse response;
    ODY_RETURN_IF_ERROR(FromGrpc(metrics_->GetMetrics(&context, {}, &response)));
    const std::string& text = response.text();
    const std::string pool = "odyssey_supervisor_pool_cells_total";
    const int64_t ready = ValueOf(text, pool + "{event=\"made\"}") -
                          ValueOf(text, pool + "{event=\"claimed\"}") -
                          ValueOf(text, pool + "{event=\"unused\"}");
    if (ready > 0 && ready == ValueOf(text, "odyssey_supervisor_cells_ahead")) return OkStatus();
    std::this_thread::sleep_for(kStep);
  }
  return Unavailable("no cell was made ahead");
}

Result<uint64_t> Client::Exec(const std::string& cell_id, const std::vector<std::string>& argv) {
  grpc::ClientContext context;
  context.set_initial_metadata_corked(true);  // one write for headers and the start message
  const auto stream = stub_->Exec(&context);
  v1::ExecRequest request;
  v1::ExecStart* start = request.mutable_start();
  start->set_cell_id(cell_id);
  for (const std::string& word : argv) start->add_argv(word);
  start->set_wall_clock_ms(kWallClockMs);
  stream->Write(request);

  uint64_t bytes = 0;
  v1::ExecOutcome outcome;
  for (v1::ExecResponse response; stream->Read(&response);) {
    if (response.has_output()) bytes += response.output().data().size();
    if (response.has_outcome()) outcome = response.outcome();
  }
  ODY_RETURN_IF_ERROR(FromGrpc(stream->Finish()));
  if (outcome.kind() == v1::OUTCOME_KIND_EXITED && outcome.exit_code() == 0) return bytes;
  return Internal("exec of " + argv[0] + ": " + outcome.ShortDebugString());
}

Result<uint64_t> Client::Read(const std::string& cell_id, const std::string& path) {
  v1::FileOpRequest request;
  request.set_cell_id(cell_id);
  request.mutable_read()->set_path(path);
  v1::FileOpResponse response;
  grpc::ClientContext context;
  ODY_RETURN_IF_ERROR(FromGrpc(stub_->FileOp(&context, request, &response)));
  return response.read().content().size();
}

Status Client::Write(const std::string& cell_id, const std::string& path,
                     const std::string& content) {
  v1::FileOpRequest request;
  request.set_cell_id(cell_id);
  request.mutable_write()->set_path(path);
  request.mutable_write()->set_content(content);
  v1::FileOpResponse response;
  grpc::ClientContext context;
  return FromGrpc(stub_->FileOp(&context, request, &response));
}

Result<uint32_t> Client::ListChanges(const std::string& component) {
  v1::ListChangesRequest request;
  *request.mutable_key() = KeyOf(component);
  grpc::ClientContext context;
  const auto stream = changes_->ListChanges(&context, request);
  uint32_t changes = 0;
  for (v1::ListChangesResponse response; stream->Read(&response);) {
    if (response.has_change()) ++changes;
  }
  ODY_RETURN_IF_ERROR(FromGrpc(stream->Finish()));
  return changes;
}

Result<uint32_t> Client::CommitChanges(const std::string& component) {
  v1::CommitChangesRequest request;
  *request.mutable_key() = KeyOf(component);
  v1::CommitChangesResponse response;
  grpc::ClientContext context;
  ODY_RETURN_IF_ERROR(FromGrpc(changes_->CommitChanges(&context, request, &response)));
  return response.committed();
}

Result<uint32_t> Client::UndoCommit(const std::string& component) {
  v1::UndoCommitsRequest request;
  *request.mutable_key() = KeyOf(component);
  v1::UndoCommitsResponse response;
  grpc::ClientContext context;
  ODY_RETURN_IF_ERROR(FromGrpc(changes_->UndoCommits(&context, request, &response)));
  return response.restored();
}

Result<std::unique_ptr<ScopedCell>> ScopedCell::Make(Client* client, const CellOptions& options) {
  ODY_ASSIGN_OR_RETURN(v1::CellInfo info, client->PrepareCell(options));
  return std::unique_ptr<ScopedCell>(new ScopedCell(client, std::move(info)));
}

ScopedCell::~ScopedCell() {
  const Status status = client_->RemoveCell(id());
  if (!status.ok()) fprintf(stderr, "remove cell: %s\n", status.ToString().c_str());
}

}  // namespace odyssey::bench
