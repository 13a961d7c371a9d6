#include "ctl/exec/exec_run.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/os/file.h"
#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"
#include "ctl/cell/cell_name.h"
#include "ctl/changes/direct_writes.h"
#include "ctl/client/client.h"
#include "ctl/client/message_text.h"
#include "ctl/exec/exec_call.h"
#include "ctl/exec/exec_files.h"
#include "ctl/exec/exec_image.h"
#include "ctl/exec/exec_policy.h"
#include "ctl/exec/exec_review.h"
#include "ctl/file/sources_digest.h"
#include "ctl/policy/exec_options.h"
#include "ctl/policy/explain.h"
#include "ctl/policy/option_words.h"
#include "ctl/policy/policy_asker.h"
#include "ctl/policy/policy_file.h"
#include "odyssey/supervisor/v1/supervisor.stub.h"
#include "policy/convert/sandbox_proto.h"
#include "policy/dialect/ceiling_directory.h"

namespace odyssey::ctl {
namespace {

using supervisor::v1::SupervisorStub;

Result<std::string> RandomComponent(const char* start, size_t count) {
  unsigned char bytes[12];
  ODY_CHECK(count <= sizeof(bytes));
  if (getrandom(bytes, sizeof(bytes), 0) != static_cast<ssize_t>(sizeof(bytes))) {
    return ErrnoStatus(errno, "get random bytes");
  }
  std::string out = start;
  static constexpr char kDigits[] = "0123456789abcdef";
  for (size_t i = 0; i < count; ++i) {
    out += kDigits[bytes[i] >> 4];
    out += kDigits[bytes[i] & 15];
  }
  return out;
}

supervisor::v1::PrepareCellRequest MakeRequest(const ExecOptions& options,
                                               const std::string& component, NamedPlaces* places) {
  supervisor::v1::PrepareCellRequest request;
  *request.mutable_key() = KeyOfCommand(component);
  *request.mutable_sandbox() = policy::ToProto(options.sandbox);
  request.set_workspace(options.sandbox.workspace);
  const policy::FileIdentity& workspace = options.sandbox.workspace_identity;
  if (workspace.inode != 0) *request.mutable_workspace_identity() = policy::ToProto(workspace);
  // A cell of one command is not used again.
  if (!options.sandbox.ephemeral) {
    request.set_sources_digest(SourcesDigest(options.sandbox, places));
  }
  request.set_ephemeral(options.sandbox.ephemeral);
  request.set_single_use(options.sandbox.ephemeral);  // ends even if we are killed
  request.set_owner_uid(options.owner_uid.value_or(getuid()));
  request.set_allow_danger(options.allow_danger);
  request.set_spare_running(true);
  return request;
}

supervisor::v1::ExecStart MakeStart(const ExecOptions& options, const std::string& cell_id,
                                    const std::string& run_id) {
  supervisor::v1::ExecStart start;
  start.set_cell_id(cell_id);
  start.set_run_id(run_id);
  for (const std::string& word : options.argv) start.add_argv(word);
  start.set_cwd(options.cwd);
  start.set_wall_clock_ms(options.timeout_ms);
  return start;
}

// Waits until nothing of the cell of one command is left, whatever happened to the command.
class CellRemover final {
 public:
  CellRemover(const Console& console, const Client& client, const SupervisorStub& stub,
              std::string cell_id)
      : console_(console), client_(client), stub_(stub), cell_id_(std::move(cell_id)) {}
  ~CellRemover() {
    supervisor::v1::RemoveCellRequest request;
    request.set_cell_id(cell_id_);
    request.set_purge(true);
    supervisor::v1::RemoveCellResponse response;
    const Status status = stub_.RemoveCell({kCellCallMs}, request, &response);
    if (!status.ok() && status.code() != Code::kNotFound) {
      console_.Fail(client_.Explain("remove cell " + cell_id_, status));
    }
  }
  CellRemover(const CellRemover&) = delete;
  CellRemover& operator=(const CellRemover&) = delete;

 private:
  const Console& console_;
  const Client& client_;
  const SupervisorStub& stub_;
  const std::string cell_id_;
};

std::string Usage(const ExecOptions& options) {
  return "odyssey-ctl " + options.verb + " --help lists the options.";
}

// What no option asked for is not insisted on: where the operator's ceiling lets no file of a
// workspace execute, the system's programs remain. True if there is another request to make.
bool GiveUpDefault(const Status& refusal, ExecOptions* options) {
  if (!options->default_executables || refusal.detail().field != "executables_mode") return false;
  options->default_executables = false;
  options->sandbox.executables_mode = policy::ExecutablesMode::kStandard;
  return true;
}

// `places` keeps what the options name open until the cell is made. `*used` becomes the cell's id,
// if there was one.
int RunInCell(const Console& console, const PolicyAsker& asker, ExecOptions options,
              const std::string& component, NamedPlaces* places, std::string* used) {
  if (const Status status = CheckTerminal(console, options.terminal); !status.ok()) {
    return CannotExec(console, {options.verb, status.message(), ""});
  }
  Result<ExecFiles> files = ExecFiles::Prepare(console, options.inject, options.collect);
  if (!files.ok()) return CannotExec(console, {options.verb, files.status().message(), ""});
  ExecCall call(options.terminal, options.denials);
  call.SetGrantWords([&](const supervisor::v1::Denial& denial) {
    return GrantAsOption(denial, options.sandbox.executables_mode);
  });
  const Result<Client> client = Client::Connect(Daemon::kSupervisor, asker.locations());
  if (!client.ok()) return CannotExec(console, ExplainConnect(options.verb, client.status()));
  const SupervisorStub stub(client->channel());

  if (const Status status = AskAboutPolicy(asker, places, &options); !status.ok()) {
    return CannotExec(console, {options.verb, "--policy: " + status.message(), ""});
  }
  supervisor::v1::PrepareCellResponse prepared;
  Status status;
  do {
    const supervisor::v1::PrepareCellRequest request = MakeRequest(options, component, places);
    if (const Status text = CheckText(request); !text.ok()) {
      return CannotExec(console, {options.verb, text.message(), ""});
    }
    status = stub.PrepareCell(call.Interruptible(kCellCallMs), request, &prepared);
  } while (GiveUpDefault(status, &options));
  if (call.interrupted_by() != 0 && !status.ok()) return kExitSignalBase + call.interrupted_by();
  if (!status.ok()) {
    Failure failure = client->Explain("prepare a cell", status, options.origins);
    if (failure.next.empty()) failure.next = Usage(options);
    return CannotExec(console, failure);
  }

  WarnOfDirectWrites(console, DirectlyWritten(options.sandbox));
  std::optional<CellRemover> remover;
  const std::string cell_id = prepared.cell().cell_id();
  *used = cell_id;
  if (options.sandbox.ephemeral) remover.emplace(console, *client, stub, cell_id);

  const Result<std::string> run = files->Put(&call, *client, stub, cell_id);
  if (call.interrupted_by() != 0 && !run.ok()) return kExitSignalBase + call.interrupted_by();
  if (!run.ok()) return CannotExec(console, {"--inject", run.status().message(), ""});
  if (const Status put = PutHomeFiles(&call, *client, stub, cell_id, options.files); !put.ok()) {
    if (call.interrupted_by() != 0) return kExitSignalBase + call.interrupted_by();
    return CannotExec(console, {options.verb, put.message(), ""});
  }
  const int code = call.Run(console, MakeStart(options, cell_id, *run), *client, options.origins,
                            [&] { return stub.Exec({}); });
  const bool collected = files->Get(console, &call, *client, stub, cell_id, *run);
  return code == kExitOk && !collected ? kExitCannot : code;
}

}  // namespace

int RunExec(const Console& console, const PolicyAsker& asker, ExecOptions options,
            NamedPlaces* places) {
  for (const std::string& note : options.notes) {
    console.Warn("odyssey-ctl: " + Sanitize(note, Lines::kOne));
  }
  const dialect::Policy* const policy = options.policy ? &*options.policy : nullptr;
  if (policy != nullptr) PrintWarnings(console, policy->warnings);
  if (options.explain) {
    UseImageIfBuilt(console, asker, &options);
    if (const Status status = CheckImageUser(options); !status.ok()) {
      return CannotExec(console, {options.verb, status.message(), Usage(options)});
    }
    const auto give_up = [&](const Status& refusal, policy::SandboxRequest* request) {
      if (!GiveUpDefault(refusal, &options)) return false;
      *request = options.sandbox;
      return true;
    };
    const Status status =
        PrintPlan(console, {options.sandbox, policy, options.origins, give_up}, asker);
    if (status.ok()) return kExitOk;
    console.Fail({options.verb + " --explain", status.message(), Usage(options)});
    return kExitCannot;
  }
  if (options.argv.empty()) {
    return CannotExec(console, {options.verb, "CMD is missing",
                                "usage: odyssey-ctl exec [options] -- CMD ARG..."});
  }
  const int refused = PrepareImage(console, asker, &options);
  if (refused != kExitOk) return refused;
  if (const Status status = CheckImageUser(options); !status.ok()) {
    return CannotExec(console, {options.verb, status.message(), Usage(options)});
  }
  // One whose changes wait for a commit is named by a person afterwards.
  const Result<std::string> random =
      options.reviewed ? RandomComponent("review-", 4) : RandomComponent("once-", 12);
  if (!random.ok()) return CannotExec(console, {options.verb, random.status().message(), ""});
  const std::string& name = options.cell.empty() ? *random : options.cell;
  if (options.reviewed && console.json) console.Warn(ReviewNotice(name));
  std::string cell_id;
  const int code = RunInCell(console, asker, options, name, places, &cell_id);
  if (options.reviewed && !cell_id.empty()) {
    ReviewAfterExec(console, asker.locations(), {name, cell_id, options.cell.empty()});
  }
  return code;
}

}  // namespace odyssey::ctl
