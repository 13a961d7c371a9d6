#include "agentd/sandbox/supervisor_client.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "agentd/sandbox/cell_key_proto.h"
#include "agentd/sandbox/cell_spec_proto.h"
#include "agentd/sandbox/exec_cancel.h"
#include "common/base/sha256.h"
#include "common/rpc/status_map.h"
#include "odyssey/supervisor/v1/changes.grpc.pb.h"
#include "odyssey/supervisor/v1/supervisor.grpc.pb.h"

namespace odyssey::sandbox {
namespace {

namespace pb = ::odyssey::supervisor::v1;
using std::chrono::milliseconds;

constexpr milliseconds kCallDeadline{30'000};
constexpr milliseconds kInfoDeadline{2'000};
// A cell's directories are copied.
constexpr milliseconds kForkDeadline{600'000};
// How long a call waits for a supervisor that is just starting.
constexpr milliseconds kConnectDeadline{3'000};
// Beyond a command's own wall clock: for the kill, and for output still under way.
constexpr milliseconds kExecGrace{30'000};
constexpr int kMaxMessageBytes = 17 * 1024 * 1024;
constexpr int kReconnectMs = 100;
constexpr int kMaxReconnectMs = 500;
// How long a supervisor on a busy machine may take to answer a new connection.
constexpr int kConnectMs = 10'000;

std::chrono::system_clock::time_point After(milliseconds time) {
  return std::chrono::system_clock::now() + time;
}

Cell FromProto(const pb::CellInfo& info, bool created) {
  return {
      info.cell_id(),
      {info.key().session_id(), info.key().agent_id(), info.key().kind(), info.key().component()},
      created,
      info.running_execs()};
}

// The supervisor sends it as the details of the error.
void TellDenial(const FilePlace& place, const grpc::Status& status) {
  pb::Denial denial;
  if (!place.denied || !rpc::FindInDetails(status, &denial)) return;
  place.denied(denial);
}

class SupervisorClient final : public Sandbox {
 public:
  SupervisorClient(std::shared_ptr<grpc::Channel> channel, std::string socket_path)
      : channel_(std::move(channel)),
        socket_path_(std::move(socket_path)),
        stub_(pb::Supervisor::NewStub(channel_)),
        changes_(pb::Changes::NewStub(channel_)) {}

  Result<SupervisorInfo> GetInfo() override {
    pb::GetInfoResponse response;
    grpc::ClientContext context;
    context.set_deadline(After(kInfoDeadline));
    ODY_RETURN_IF_ERROR(FromCall(stub_->GetInfo(&context, {}, &response)));
    return SupervisorInfo{response.version()};
  }

  Result<Cell> PrepareCell(const CellSpec& spec) override {
    if (!channel_->WaitForConnected(After(kConnectDeadline))) return NoAnswer("");
    pb::PrepareCellResponse response;
    grpc::ClientContext context;
    context.set_deadline(After(kCallDeadline));
    ODY_RETURN_IF_ERROR(FromCall(stub_->PrepareCell(&context, ToProto(spec), &response)));
    return FromProto(response.cell(), response.created());
  }

  Status CheckCell(const CellSpec& spec) override {
    if (!channel_->WaitForConnected(After(kConnectDeadline))) return NoAnswer("");
    pb::CheckCellRequest request;
    *request.mutable_cell() = ToProto(spec);
    pb::CheckCellResponse response;
    grpc::ClientContext context;
    context.set_deadline(After(kCallDeadline));
    return FromCall(stub_->CheckCell(&context, request, &response));
  }

  Result<std::vector<Cell>> ListCells() override {
    pb::ListCellsResponse response;
    grpc::ClientContext context;
    context.set_deadline(After(kCallDeadline));
    ODY_RETURN_IF_ERROR(FromCall(stub_->ListCells(&context, {}, &response)));
    std::vector<Cell> out;
    for (const pb::CellInfo& cell : response.cells()) out.push_back(FromProto(cell, false));
    return out;
  }

  Result<pb::ChangeCounts> CountChanges(const CellKey& key) override {
    pb::ListChangesRequest request;
    ToProto(key, request.mutable_key());
    request.set_max_changes(1);  // the counts are of all
    grpc::ClientContext context;
    context.set_deadline(After(kCallDeadline));
    const auto reader = changes_->ListChanges(&context, request);
    pb::ListChangesResponse response;
    pb::ChangeCounts out;
    while (reader->Read(&response)) out = response.end().counts();
    ODY_RETURN_IF_ERROR(FromCall(reader->Finish()));
    return out;
  }

  Status ForkCell(const CellKey& from, const CellKey& to) override {
    pb::ForkCellRequest request;
    ToProto(from, request.mutable_from());
    ToProto(to, request.mutable_to());
    pb::ForkCellResponse response;
    grpc::ClientContext context;
    context.set_deadline(After(kForkDeadline));
    return FromCall(changes_->ForkCell(&context, request, &response));
  }

  Status RemoveCell(const std::string& cell_id, bool purge) override {
    pb::RemoveCellRequest request;
    request.set_cell_id(cell_id);
    request.set_purge(purge);
    pb::RemoveCellResponse response;
    grpc::ClientContext context;
    context.set_deadline(After(kCallDeadline));
    return FromCall(stub_->RemoveCell(&context, request, &response));
  }

  Status RecordApproval(const pb::RecordApprovalRequest& record) override {
    if (!channel_->WaitForConnected(After(kConnectDeadline))) return NoAnswer("");
    pb::RecordApprovalResponse response;
    grpc::ClientContext context;
    context.set_deadline(After(kCallDeadline));
    return FromCall(stub_->RecordApproval(&context, record, &response));
  }

  Result<pb::ExecOutcome> Exec(const pb::ExecStart& start, const ExecSink& sink,
                               std::stop_token stop) override;

  Result<pb::FileOpResponse> FileOp(const FilePlace& place, pb::FileOpRequest request) override {
    request.set_cell_id(place.cell_id);
    request.set_no_links(place.links == Links::kRefuse);
    pb::FileOpResponse response;
    grpc::ClientContext context;
    context.set_deadline(After(kCallDeadline));
    const grpc::Status status = stub_->FileOp(&context, request, &response);
    TellDenial(place, status);
    ODY_RETURN_IF_ERROR(FromCellCall(status));
    return response;
  }

 private:
  using ExecStream = grpc::ClientReaderWriter<pb::ExecRequest, pb::ExecResponse>;

  Status NoAnswer(const std::string& detail) const {
    return Unavailable("the supervisor at " + socket_path_ + " does not answer" +
                       (detail.empty() ? "" : ": " + detail));
  }

  // A deadline that passes means the same as no connection: nothing is known about what ran.
  Status FromCall(const grpc::Status& status) const {
    switch (status.error_code()) {
      case grpc::StatusCode::UNAVAILABLE:
      case grpc::StatusCode::DEADLINE_EXCEEDED:
        return NoAnswer(status.error_message());
      default:
        return rpc::FromGrpc(status);
    }
  }

  // A call in a cell: one that is gone ended under us, which is another thing than a missing file.
  Status FromCellCall(const grpc::Status& status) const {
    const Status failed = rpc::FromGrpc(status);
    const bool gone = failed.code() == Code::kNotFound && failed.detail().field == "cell_id";
    return gone ? Unavailable("the cell ended: " + failed.message()) : FromCall(status);
  }

  // Until the feed or the call ends.
  static void WriteFeed(ExecStream& stream, ExecFeed* feed);
  // Hands every message to the sink until the outcome; an error is the sink's.
  static Status ReadExec(ExecStream& stream, const ExecSink& sink, ExecCancel* cancel,
                         bool* started, std::optional<pb::ExecOutcome>* outcome);
  // The outcome, unless it means that the cell ended; a kind that we do not know is a failure.
  static Result<pb::ExecOutcome> Judged(pb::ExecOutcome outcome, bool started);

  const std::shared_ptr<grpc::Channel> channel_;
  const std::string socket_path_;
  const std::unique_ptr<pb::Supervisor::Stub> stub_;
  const std::unique_ptr<pb::Changes::Stub> changes_;
};

Result<pb::ExecOutcome> SupervisorClient::Exec(const pb::ExecStart& start, const ExecSink& sink,
                                               std::stop_token stop) {
  const auto context = std::make_shared<grpc::ClientContext>();
  const uint32_t wall_clock_ms =
      start.wall_clock_ms() != 0 ? start.wall_clock_ms() : start.default_wall_clock_ms();
  if (wall_clock_ms != 0) {
    context->set_deadline(After(milliseconds(wall_clock_ms) + kExecGrace));
  }
  const std::unique_ptr<ExecStream> stream = stub_->Exec(context.get());
  ExecCancel cancel(stub_.get(), context);
  const std::stop_callback on_stop(stop, [&cancel] { cancel.Request(); });

  pb::ExecRequest request;
  *request.mutable_start() = start;
  stream->Write(request);  // a failed write shows as the status below
  std::thread writer;
  if (sink.feed != nullptr) {
    writer = std::thread([&] { WriteFeed(*stream, sink.feed); });
  } else {
    stream->WritesDone();
  }

  bool started = false;
  std::optional<pb::ExecOutcome> outcome;
  const Status sunk = ReadExec(*stream, sink, &cancel, &started, &outcome);
  if (!sunk.ok()) {
    cancel.Request();
    for (pb::ExecResponse unread; stream->Read(&unread);) continue;
  }
  if (sink.feed != nullptr) {
    sink.feed->End();
    writer.join();
  }
  const grpc::Status status = stream->Finish();
  ODY_RETURN_IF_ERROR(sunk);
  if (stop.stop_requested()) return Cancelled("the command was cancelled");
  ODY_RETURN_IF_ERROR(FromCellCall(status));
  if (!outcome) return Unavailable("the supervisor ended the command without an outcome");
  return Judged(*std::move(outcome), started);
}

void SupervisorClient::WriteFeed(ExecStream& stream, ExecFeed* feed) {
  while (const std::optional<pb::ExecRequest> message = feed->Take()) {
    if (!stream.Write(*message)) return;
  }
}

Status SupervisorClient::ReadExec(ExecStream& stream, const ExecSink& sink, ExecCancel* cancel,
                                  bool* started, std::optional<pb::ExecOutcome>* outcome) {
  pb::ExecResponse response;
  while (stream.Read(&response)) {
    if (response.has_started()) {
      *started = true;
      cancel->OnStarted(response.started().exec_id());
      ODY_RETURN_IF_ERROR(sink.started(response.started()));
    } else if (response.has_output()) {
      ODY_RETURN_IF_ERROR(sink.output(response.output()));
    } else if (response.has_denial()) {
      if (sink.denied) ODY_RETURN_IF_ERROR(sink.denied(response.denial()));
    } else if (response.has_outcome()) {
      *outcome = response.outcome();
      for (const pb::EgressDecision& decision : response.outcome().egress()) {
        if (sink.decided) ODY_RETURN_IF_ERROR(sink.decided(decision));
      }
    }
  }
  return OkStatus();
}

Result<pb::ExecOutcome> SupervisorClient::Judged(pb::ExecOutcome outcome, bool started) {
  // The cell was killed or removed under a running command, and not by us.
  const bool lost =
      (outcome.cell_ended() && started) || outcome.kind() == pb::OUTCOME_KIND_CANCELLED;
  if (lost) {
    return Unavailable("the cell ended under the command" +
                       (outcome.message().empty() ? "" : ": " + outcome.message()));
  }
  const bool known =
      pb::OutcomeKind_IsValid(outcome.kind()) && outcome.kind() != pb::OUTCOME_KIND_UNSPECIFIED;
  if (!known) outcome.set_kind(pb::OUTCOME_KIND_SETUP_FAILED);
  return outcome;
}

}  // namespace

std::shared_ptr<grpc::Channel> OpenSupervisorChannel(const std::string& socket_path) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectMs);
  // Despite its name the time that one attempt has, and its failure is the call's.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kMaxReconnectMs);
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  return grpc::CreateCustomChannel("unix:" + socket_path, grpc::InsecureChannelCredentials(),
                                   arguments);
}

std::unique_ptr<Sandbox> NewSupervisorClient(std::shared_ptr<grpc::Channel> channel,
                                             std::string socket_path) {
  return std::make_unique<SupervisorClient>(std::move(channel), std::move(socket_path));
}

}  // namespace odyssey::sandbox
