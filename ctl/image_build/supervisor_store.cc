#include "ctl/image_build/supervisor_store.h"

#include <errno.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "ctl/cell/cell_name.h"
#include "ctl/policy/option_words.h"
#include "ctl/view/denial_line.h"
#include "policy/convert/sandbox_proto.h"

namespace odyssey::ctl {
namespace {

using supervisor::v1::ExecOutcome;
using supervisor::v1::ImportImageRequest;
using supervisor::v1::ImportImageResponse;

constexpr size_t kPiece = size_t{1} << 20;

// How a command ended that did not succeed.
CommandResult FailedBy(const ExecOutcome& outcome) {
  switch (outcome.kind()) {
    case supervisor::v1::OUTCOME_KIND_EXITED:
      return {outcome.exit_code(), "", ""};
    case supervisor::v1::OUTCOME_KIND_SIGNALLED:
      return {0, "was killed by signal " + std::to_string(outcome.signal()), ""};
    case supervisor::v1::OUTCOME_KIND_TIMED_OUT:
      return {0, "timed out; --timeout gives it longer", ""};
    case supervisor::v1::OUTCOME_KIND_OOM_KILLED:
      return {0, "is out of memory; --memory gives it more", ""};
    case supervisor::v1::OUTCOME_KIND_DENIED:
      return {0, "was found, but may not be executed: " + outcome.message(), ""};
    case supervisor::v1::OUTCOME_KIND_NOT_FOUND:
      return {0, "the image has no such program: " + outcome.message(), ""};
    default:
      return {0, outcome.message().empty() ? "ended without an exit code" : outcome.message(), ""};
  }
}

// `image build` has no other network than what is public.
std::string GrantOf(const supervisor::v1::Denial& denial) {
  if (denial.grant_key() == supervisor::v1::GRANT_KEY_NETWORK_FULL) return "--network public";
  return GrantAsOption(denial, policy::ExecutablesMode::kAll);
}

}  // namespace

// Ends with this object, directories and all, also where the build was interrupted.
class SupervisorStore::Cell final {
 public:
  Cell(const supervisor::v1::SupervisorStub& stub, supervisor::v1::PrepareCellRequest request,
       std::string id)
      : stub_(stub), request_(std::move(request)), id_(std::move(id)) {}
  ~Cell() {
    if (Remove().code() != Code::kNotFound) return;
    // A commit ends the cell and keeps its directories, which are removed with a cell alone.
    supervisor::v1::PrepareCellResponse again;
    if (!stub_.PrepareCell({kCellCallMs}, request_, &again).ok()) return;
    id_ = again.cell().cell_id();
    (void)Remove();
  }
  Cell(const Cell&) = delete;
  Cell& operator=(const Cell&) = delete;

 private:
  Status Remove() const {
    supervisor::v1::RemoveCellRequest request;
    request.set_cell_id(id_);
    request.set_purge(true);
    supervisor::v1::RemoveCellResponse response;
    return stub_.RemoveCell({kCellCallMs}, request, &response);
  }

  const supervisor::v1::SupervisorStub& stub_;
  const supervisor::v1::PrepareCellRequest request_;
  std::string id_;
};

SupervisorStore::SupervisorStore(const Client& client, uid_t owner, policy::SandboxRequest sandbox,
                                 std::string cell, int signals, BuildProgress* progress,
                                 ImagePuller* puller)
    : client_(client),
      images_(client.channel()),
      cells_(client.channel()),
      owner_(owner),
      sandbox_(std::move(sandbox)),
      cell_(std::move(cell)),
      signals_(signals),
      progress_(progress),
      puller_(puller) {}

Result<StoredImage> SupervisorStore::Inspect(const std::string& reference) {
  supervisor::v1::InspectImageRequest request;
  request.set_owner_uid(owner_);
  request.set_reference(reference);
  supervisor::v1::InspectImageResponse response;
  ODY_RETURN_IF_ERROR(images_.InspectImage({kQuickCallMs}, request, &response));
  const auto& names = response.image().names();
  return StoredImage{response.image().digest(),
                     {names.begin(), names.end()},
                     std::move(*response.mutable_manifest()),
                     std::move(*response.mutable_config())};
}

bool SupervisorStore::MayPull(const std::string& reference) const {
  return puller_->MayPull(reference);
}

Status SupervisorStore::Pull(const std::string& reference) { return puller_->Pull(reference); }

Status SupervisorStore::SendLayer(const NewLayer& layer, ImportStream* stream) const {
  ImportImageRequest request;
  request.set_layer(layer.blob.digest);
  bool going = stream->Write(request);
  std::string buffer(kPiece, '\0');
  while (going) {
    const ssize_t n = read(layer.file, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "read the layer");
    if (n == 0) return OkStatus();
    request.set_data(buffer.data(), static_cast<size_t>(n));
    going = stream->Write(request);
  }
  return OkStatus();  // how the call ended says why
}

Result<std::string> SupervisorStore::Import(const std::string& name, const std::string& manifest,
                                            const std::string& config, const NewLayer* layer) {
  ImportStream stream = images_.ImportImage(Interruptible());
  ImportImageRequest request;
  request.mutable_start()->set_owner_uid(owner_);
  request.mutable_start()->set_name(name);
  request.mutable_start()->set_manifest(manifest);
  request.mutable_start()->set_config(config);
  ImportImageResponse response;
  if (!stream.Write(request) || !stream.Read(&response)) {
    ODY_RETURN_IF_ERROR(stream.Finish());
    return Internal("the store did not answer");
  }
  for (const std::string& digest : response.wanted().digests()) {
    if (layer == nullptr || digest != layer->blob.digest) {
      return FailedPrecondition("the store wants the layer " + digest +
                                " of the base image again; pull that as the same user");
    }
    ODY_RETURN_IF_ERROR(SendLayer(*layer, &stream));
  }
  stream.WritesDone();
  std::string imported;
  while (stream.Read(&response)) {
    if (response.has_image()) imported = response.image().digest();
  }
  ODY_RETURN_IF_ERROR(stream.Finish());
  if (imported.empty()) return Internal("the store did not answer with an image");
  return imported;
}

Status SupervisorStore::ReadFiles(const std::string& image, const std::string& path,
                                  const std::function<Result<bool>(std::string_view)>& sink) {
  supervisor::v1::ReadImageFilesRequest request;
  request.set_owner_uid(owner_);
  request.set_reference(image);
  request.set_path(path);
  auto stream = images_.ReadImageFiles(Interruptible(), request);
  supervisor::v1::ReadImageFilesResponse response;
  while (stream.Read(&response)) {
    ODY_ASSIGN_OR_RETURN(const bool more, sink(response.data()));
    if (!more) return OkStatus();  // the stream's end cancels the call
  }
  return stream.Finish();
}

Status SupervisorStore::Remove(const std::string& reference) {
  supervisor::v1::RemoveImageRequest request;
  request.set_owner_uid(owner_);
  request.set_reference(reference);
  supervisor::v1::RemoveImageResponse response;
  return images_.RemoveImage({kCellCallMs}, request, &response);
}

supervisor::v1::PrepareCellRequest SupervisorStore::CellFor(const BuildCommand& command) {
  policy::SandboxRequest sandbox = sandbox_;
  sandbox.mode = policy::Mode::kWorkspaceWrite;
  sandbox.executables_mode = policy::ExecutablesMode::kAll;
  sandbox.image = {.reference = command.image, .user = command.user, .build = true};
  sandbox.env = command.environment;
  supervisor::v1::PrepareCellRequest request;
  *request.mutable_key() = KeyOfCommand(cell_ + "-" + std::to_string(++commands_));
  *request.mutable_sandbox() = policy::ToProto(sandbox);
  request.set_owner_uid(owner_);
  return request;
}

Result<ExecOutcome> SupervisorStore::Execute(const std::string& cell_id,
                                             const BuildCommand& command) {
  supervisor::v1::ExecRequest request;
  request.mutable_start()->set_cell_id(cell_id);
  for (const std::string& word : command.argv) request.mutable_start()->add_argv(word);
  request.mutable_start()->set_cwd(command.directory);
  auto stream = cells_.Exec(Interruptible());
  std::vector<supervisor::v1::Denial> denials;
  ExecOutcome outcome;
  stream.Write(request);
  stream.WritesDone();
  supervisor::v1::ExecResponse response;
  Status shown;
  while (shown.ok() && stream.Read(&response)) {
    if (response.has_output()) shown = progress_->Output(response.output().data());
    if (response.has_denial()) {
      denials.push_back(response.denial());
      denials.back().set_grant(GrantOf(response.denial()));
    }
    if (response.has_outcome()) outcome = response.outcome();
  }
  progress_->EndOutput();
  ODY_RETURN_IF_ERROR(shown);
  ODY_RETURN_IF_ERROR(stream.Finish());
  for (const std::string& line : DenialLines(denials, outcome.denials())) progress_->Note(line);
  return outcome;
}

Result<CommandResult> SupervisorStore::Run(const BuildCommand& command) {
  const supervisor::v1::PrepareCellRequest request = CellFor(command);
  supervisor::v1::PrepareCellResponse prepared;
  if (const Status status = cells_.PrepareCell(Interruptible(kCellCallMs), request, &prepared);
      !status.ok()) {
    return Status(status.code(), "prepare a cell: " + client_.Explain("", status).why);
  }
  const Cell cell(cells_, request, prepared.cell().cell_id());
  ODY_ASSIGN_OR_RETURN(const ExecOutcome outcome, Execute(prepared.cell().cell_id(), command));
  if (outcome.kind() != supervisor::v1::OUTCOME_KIND_EXITED || outcome.exit_code() != 0) {
    return FailedBy(outcome);
  }
  supervisor::v1::CommitImageRequest commit;
  *commit.mutable_key() = request.key();
  commit.set_owner_uid(owner_);
  commit.set_comment(command.comment);
  supervisor::v1::CommitImageResponse committed;
  // Not cancelled: what came of it would stay unknown, and in the store.
  ODY_RETURN_IF_ERROR(images_.CommitImage({}, commit, &committed));
  return CommandResult{0, "", committed.image().digest()};
}

}  // namespace odyssey::ctl
