// exec, and the part of it that session exec shares.
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
#include "ctl/exec/exec_policy.h"
#include "ctl/exec/exec_review.h"
#include "ctl/file/sources_digest.h"
#include "ctl/policy/exec_options.h"
#include "ctl/policy/explain.h"
#include "ctl/policy/option_words.h"
#include "ctl/policy/policy_asker.h"
#include "ctl/policy/policy_file.h"
#include "ctl/policy/project_approval.h"
#include "odyssey/supervisor/v1/supervisor.stub.h"
#include "policy/convert/sandbox_proto.h"
#include "policy/dialect/ceiling_directory.h"

namespace odyssey::ctl {
namespace {

constexpr char kOptions[] = "odyssey-ctl exec --help lists the options.";

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
    return CannotExec(console, {"exec", status.message(), ""});
  }
  Result<ExecFiles> files = ExecFiles::Prepare(console, options.inject, options.collect);
  if (!files.ok()) return CannotExec(console, {"exec", files.status().message(), ""});
  ExecCall call(options.terminal, options.denials);
  call.SetGrantWords([&](const supervisor::v1::Denial& denial) {
    return GrantAsOption(denial, options.sandbox.executables_mode);
  });
  const Result<Client> client = Client::Connect(Daemon::kSupervisor, asker.locations());
  if (!client.ok()) return CannotExec(console, ExplainConnect("exec", client.status()));
  const SupervisorStub stub(client->channel());

  if (const Status status = AskAboutPolicy(asker, places, &options); !status.ok()) {
    return CannotExec(console, {"exec", "--policy: " + status.message(), ""});
  }
  supervisor::v1::PrepareCellResponse prepared;
  Status status;
  do {
    const supervisor::v1::PrepareCellRequest request = MakeRequest(options, component, places);
    if (const Status text = CheckText(request); !text.ok()) {
      return CannotExec(console, {"exec", text.message(), ""});
    }
    status = stub.PrepareCell(call.Interruptible(kCellCallMs), request, &prepared);
  } while (GiveUpDefault(status, &options));
  if (call.interrupted_by() != 0 && !status.ok()) return kExitSignalBase + call.interrupted_by();
  if (!status.ok()) {
    Failure failure = client->Explain("prepare a cell", status, options.origins);
    if (failure.next.empty()) failure.next = kOptions;
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
  const int code = call.Run(console, MakeStart(options, cell_id, *run), *client, options.origins,
                            [&] { return stub.Exec({}); });
  const bool collected = files->Get(console, &call, *client, stub, cell_id, *run);
  return code == kExitOk && !collected ? kExitCannot : code;
}

int ExecCommand(const Invocation& call) {
  const Console& console = *call.console;
  ExecInputs inputs = MakeExecInputs();
  if (call.options.Has("owner")) {
    const auto found = dialect::FindOwner("--owner", call.options.Text("owner"));
    if (!found.ok()) return CannotExec(console, {"exec", found.status().message(), kOptions});
    inputs.owner_uid = found->uid;
  }
  const uid_t owner = inputs.owner_uid.value_or(getuid());
  const PolicyAsker asker(dialect::OwnerOf(owner), call.locations);
  if (owner != getuid()) inputs.home = asker.owner().home;
  Result<ExecOptions> options = ReadExecOptions(call.options, inputs);
  if (!options.ok()) {
    return CannotExec(console, {"exec", options.status().message(), kOptions});
  }
  for (const std::string& note : options->notes) {
    console.Warn("odyssey-ctl: " + Sanitize(note, Lines::kOne));
  }
  const dialect::Policy* const policy = options->policy ? &*options->policy : nullptr;
  if (policy != nullptr) PrintWarnings(console, policy->warnings);
  if (options->explain) {
    const auto give_up = [&](const Status& refusal, policy::SandboxRequest* request) {
      if (!GiveUpDefault(refusal, &*options)) return false;
      *request = options->sandbox;
      return true;
    };
    const Status status =
        PrintPlan(console, {options->sandbox, policy, options->origins, give_up}, asker);
    if (status.ok()) return kExitOk;
    console.Fail({"exec --explain", status.message(), kOptions});
    return kExitCannot;
  }
  if (options->argv.empty()) {
    return CannotExec(
        console, {"exec", "CMD is missing", "usage: odyssey-ctl exec [options] -- CMD ARG..."});
  }
  if (policy != nullptr) {
    const Status approved = ApproveProject(console, *policy, owner, call.locations);
    if (!approved.ok()) {
      return CannotExec(console,
                        {"exec --policy " + call.options.Text("policy"), approved.message(),
                         "docs/policy/dialects.md describes what a project's file may add."});
    }
  }
  // One whose changes wait for a commit is named by a person afterwards.
  const Result<std::string> random =
      options->reviewed ? RandomComponent("review-", 4) : RandomComponent("once-", 12);
  if (!random.ok()) return CannotExec(console, {"exec", random.status().message(), ""});
  const std::string& name = options->cell.empty() ? *random : options->cell;
  if (options->reviewed && console.json) console.Warn(ReviewNotice(name));
  std::string cell_id;
  const int code = RunInCell(console, asker, *options, name, inputs.places.get(), &cell_id);
  if (options->reviewed && !cell_id.empty()) {
    ReviewAfterExec(console, call.locations, {name, cell_id, options->cell.empty()});
  }
  return code;
}

}  // namespace

std::vector<Command> ExecCommands() {
  return {{.name = "exec",
           .summary = "run one command in a cell made for it",
           .positionals = {{.name = "CMD", .required = false, .rest = true}},
           .options = ExecOptionSpecs(),
           .notes =
               "Exit code: the command's own; 124 timed out, 125 Odyssey could not do it, 126 not "
               "permitted,\n127 not found, 128+N killed by signal N, 137 also out of memory "
               "(stderr says which).\n"
               "With -o json the last line of stderr is {\"outcome\", \"denials\"}, also where no "
               "command began. SIGINT, SIGTERM, "
               "SIGQUIT and SIGHUP go to the\ncommand; a second SIGINT ends it, and so do ten "
               "seconds after SIGTERM or SIGHUP.\nWith --review the exit code is the command's all "
               "the same. Without a terminal, and with -o json, the changes\nare kept, and stderr "
               "says under which name: see changes, commit and discard.",
           .usage_exit = kExitCannot,
           .run = ExecCommand}};
}

}  // namespace odyssey::ctl
