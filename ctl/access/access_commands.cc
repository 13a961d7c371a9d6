// cell attach|forward|ssh-config|ssh-proxy.
#include <stdlib.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "ctl/access/forward_spec.h"
#include "ctl/access/forwarder.h"
#include "ctl/access/listen.h"
#include "ctl/access/ssh_keys.h"
#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/program_path.h"
#include "ctl/base/sanitize.h"
#include "ctl/cell/cell_name.h"
#include "ctl/cell/standing_text.h"
#include "ctl/client/client.h"
#include "ctl/exec/exec_call.h"
#include "ctl/file/file_calls.h"
#include "ctl/file/local_files.h"
#include "ctl/view/denial_line.h"
#include "odyssey/supervisor/v1/supervisor.stub.h"
#include "policy/dialect/ceiling_directory.h"

namespace odyssey::ctl {
namespace {

using supervisor::v1::CellInfo;
using supervisor::v1::SupervisorStub;

// Of the cell's shells the one that a person has in hand.
constexpr char kShell[] = "if [ -x /bin/bash ]; then exec /bin/bash -l; fi; exec /bin/sh -l";

constexpr char kDefaultSocket[] = "/run/odyssey/supervisor.sock";

// sshd on stdin and stdout, as the cell's user. Its sessions have the environment of the cell's
// commands; without SetEnv it would be sshd's own.
constexpr char kSshd[] =
    "if ! [ -x /usr/sbin/sshd ]; then\n"
    "  echo 'odyssey-ctl: cell ssh-proxy: no /usr/sbin/sshd in the cell: install the package"
    " openssh-server on the host, and name /usr/sbin/sshd where the policy lists executables' >&2\n"
    "  exit 127\n"
    "fi\n"
    "set -- \"$@\" -o \"SetEnv=$(env | sed -n "
    "'/^\\(TERM\\|PWD\\|SHLVL\\|_\\|ODYSSEY_RUN\\)=/d; s/[\\\"\\\\]/\\\\&/g; "
    "s/^[A-Za-z_][A-Za-z0-9_]*=.*/\"&\"/p' | tr '\\n' ' ')\"\n"
    "exec /usr/sbin/sshd \"$@\"";

std::vector<std::string> SshdArguments(const std::string& run) {
  const std::string inbox = "/cell/runs/" + run + "/inbox/";
  return {"-i", "-e",
          "-f", "/dev/null",                                   //
          "-o", "HostKey=" + inbox + "host",                   //
          "-o", "AuthorizedKeysFile=" + inbox + "client.pub",  //
          "-o", "UsePAM=no",                                   //
          "-o", "PasswordAuthentication=no",                   //
          "-o", "KbdInteractiveAuthentication=no",             //
          "-o", "StrictModes=no",                              //
          "-o", "PrintMotd=no",                                //
          "-o", "LogLevel=ERROR",                              //
          "-o", "Subsystem=sftp internal-sftp"};
}

struct FoundCell {
  const Client& client;
  const SupervisorStub& stub;
  CellInfo info;
};

// With the cell that the first word means, if commands may run in it. `fail` reports.
template <typename Fail, typename Body>
int WithCell(const Invocation& call, const std::string& what, Fail fail, Body body) {
  const Result<Client> client = Client::Connect(Daemon::kSupervisor, call.locations);
  if (!client.ok()) return fail(ExplainConnect(what, client.status()));
  const SupervisorStub stub(client->channel());
  supervisor::v1::DescribeCellRequest request;
  supervisor::v1::DescribeCellResponse response;
  Status status = FindCell(stub, call.options.Word(0), request.mutable_cell_id());
  if (status.ok()) status = stub.DescribeCell({kQuickCallMs}, request, &response);
  if (!status.ok()) return fail(client->Explain(what + " " + call.options.Word(0), status));
  return body(FoundCell{*client, stub, response.cell()});
}

int Attach(const Invocation& call) {
  const Console& console = *call.console;
  const auto fail = [&](const Failure& failure) { return CannotExec(console, failure); };
  const bool terminal = console.in_is_terminal;
  if (!terminal && call.options.words().size() == 1) {
    return fail({"cell attach", "stdin is not a terminal; give a command", ""});
  }
  return WithCell(call, "attach to cell", fail, [&](const FoundCell& cell) {
    ExecCall exec(terminal, ReadDenialsOption(call.options));
    supervisor::v1::ExecStart start;
    start.set_cell_id(cell.info.cell_id());
    start.set_cwd(call.options.Text("cwd"));
    const std::vector<std::string>& words = call.options.words();
    start.mutable_argv()->Assign(words.begin() + 1, words.end());
    if (words.size() == 1) {
      for (const char* word : {"/bin/sh", "-c", kShell}) start.add_argv(word);
    }
    return exec.Run(console, std::move(start), cell.client, {}, [&] { return cell.stub.Exec({}); });
  });
}

// ── forward ─────────────────────────────────────────────────────────────────────────────────────

Result<std::vector<Listener>> ListenTo(const std::vector<std::string>& words) {
  std::vector<ForwardSpec> specs;
  for (size_t i = 1; i < words.size(); ++i) {
    ODY_ASSIGN_OR_RETURN(specs.emplace_back(), ReadForward(words[i]));
  }
  std::vector<Listener> out;
  for (const ForwardSpec& spec : specs) {
    ODY_ASSIGN_OR_RETURN(std::vector<Listener> some, Listen(spec));
    for (Listener& one : some) out.push_back(std::move(one));
  }
  return out;
}

// The caller, the person behind sudo, and root, which may do it anyway.
std::vector<uid_t> AllowedUids() {
  std::vector<uid_t> uids = {getuid(), 0};
  const char* sudo = getuid() == 0 ? getenv("SUDO_UID") : nullptr;
  if (sudo != nullptr) uids.push_back(static_cast<uid_t>(strtoul(sudo, nullptr, 10)));
  return uids;
}

// Why no port of the cell can be reached, "" if one can.
std::string WhyNoForward(const CellInfo& cell) {
  switch (cell.standing().phase()) {
    case supervisor::v1::CELL_PHASE_SUSPENDED:
    case supervisor::v1::CELL_PHASE_STOPPED:
    case supervisor::v1::CELL_PHASE_QUARANTINED:
    case supervisor::v1::CELL_PHASE_ENDED:
      return "the cell is " + StandingText(cell.standing());
    default:
      break;
  }
  if (!cell.host_network()) return "";
  return "the cell is in the host's network, where its ports can be reached directly";
}

int Forward(const Invocation& call) {
  const Console& console = *call.console;
  const auto fail = [&](const Failure& failure) { return console.Fail(failure); };
  return WithCell(call, "forward to cell", fail, [&](const FoundCell& cell) {
    if (const std::string why = WhyNoForward(cell.info); !why.empty()) {
      return console.Fail({"forward to cell " + call.options.Word(0), why, ""});
    }
    const Result<std::vector<Listener>> listeners = ListenTo(call.options.words());
    if (!listeners.ok()) return console.Fail({"forward", listeners.status().message(), ""});
    Json json = Json::array();
    for (const Listener& one : *listeners) {
      json.push_back({{"address", one.text}, {"port", one.port}, {"cell_port", one.remote}});
      if (console.json) continue;
      console.PrintLine(one.text + " -> port " + std::to_string(one.remote) + " of " +
                        Sanitize(cell.info.cell_id(), Lines::kOne));
    }
    if (console.json) console.PrintJson({{"listeners", json}});
    const bool any = call.options.Has("any-user");
    return Forwarder(console, cell.client, cell.info.cell_id(),
                     any ? std::vector<uid_t>{} : AllowedUids())
        .Run(*listeners);
  });
}

// ── ssh ─────────────────────────────────────────────────────────────────────────────────────────

Result<std::string> KeysDirectory(const ParsedOptions& options) {
  if (!options.Has("keys")) {
    return SshDirectory(dialect::OwnerOf(getuid()).home, options.Word(0));
  }
  return options.Text("keys");
}

// What connects to the supervisor that this call is connected to, from wherever ssh is called.
std::string ProxyCommand(const Invocation& call, const std::string& program,
                         const std::string& keys) {
  const std::string& socket = call.locations.supervisor_socket;
  std::string out;
  if (socket != kDefaultSocket) out = "env ODYSSEY_SUPERVISOR_SOCKET=" + SshQuoted(socket) + " ";
  out += SshQuoted(program) + " cell ssh-proxy ";
  if (call.options.Has("keys")) out += "--keys " + SshQuoted(keys) + " ";
  return out + SshQuoted(call.options.Word(0));
}

int SshConfigCommand(const Invocation& call) {
  const Console& console = *call.console;
  const auto fail = [&](const Failure& failure) { return console.Fail(failure); };
  return WithCell(call, "ssh-config of cell", fail, [&](const FoundCell& cell) {
    if (cell.info.mode() == policy::v1::MODE_DANGER_FULL_ACCESS) {
      return console.Fail({"ssh-config", "the cell's commands run on the host", ""});
    }
    const std::string name =
        call.options.Has("host") ? call.options.Text("host") : call.options.Word(0);
    const bool is_name = name.find_first_of(" \t\r\n\"*?!,") == std::string::npos && name[0] != '-';
    if (!is_name) return console.Fail({"--host", "\"" + name + "\" is no name of a host", ""});
    const Result<std::string> directory = KeysDirectory(call.options);
    if (!directory.ok()) return console.Fail({"ssh-config", directory.status().message(), ""});
    const Result<SshKeys> keys = SshKeys::Make(*directory, name);
    if (!keys.ok()) return console.Fail({"ssh-config", keys.status().message(), ""});
    const Result<std::string> program = FindProgram("odyssey-ctl");
    if (!program.ok()) return console.Fail({"ssh-config", program.status().message(), ""});
    console.Print(SshConfig({name, ProxyCommand(call, *program, keys->directory())}, *keys));
    return kExitOk;
  });
}

// In a run of its own, whose inbox has the keys.
int SshProxy(const Invocation& call) {
  const Console& console = *call.console;
  const auto fail = [&](const Failure& failure) { return CannotExec(console, failure); };
  return WithCell(call, "ssh to cell", fail, [&](const FoundCell& cell) {
    const Result<std::string> directory = KeysDirectory(call.options);
    if (!directory.ok()) return fail({"ssh-proxy", directory.status().message(), ""});
    const Result<SshKeys> keys = SshKeys::Find(*directory);
    if (!keys.ok()) {
      return fail({"ssh-proxy", keys.status().message(),
                   "odyssey-ctl cell ssh-config " + call.options.Word(0) + " makes the keys."});
    }
    ExecCall exec(/*terminal=*/false, ShowDenials::kNever);
    exec.HideEndedProcesses();  // some of sshd's own may end a moment after it
    const Result<FilesToPut> files = ChooseFiles({keys->host_key(), keys->authorized_keys()});
    if (!files.ok() || files->files.size() != 2) {
      return fail({"ssh-proxy", "the keys in " + *directory + " cannot be read", ""});
    }
    Status local;
    supervisor::v1::InjectFilesResponse put;
    const Status status = PutFiles(cell.stub, exec.Interruptible(),
                                   {cell.info.cell_id(), "", files->files}, &local, &put);
    if (!local.ok()) return fail({"ssh-proxy", local.message(), ""});
    if (!status.ok()) return fail(cell.client.Explain("ssh-proxy", status));
    supervisor::v1::ExecStart start;
    start.set_cell_id(cell.info.cell_id());
    start.set_run_id(put.run_id());
    for (const char* word : {"/bin/sh", "-c", kSshd, "sshd"}) start.add_argv(word);
    for (const std::string& word : SshdArguments(put.run_id())) start.add_argv(word);
    return exec.Run(console, std::move(start), cell.client, {}, [&] { return cell.stub.Exec({}); });
  });
}

}  // namespace

std::vector<Command> AccessCommands() {
  const PositionalSpec cell = {.name = "CELL"};
  const OptionSpec keys = {.name = "keys",
                           .kind = ValueKind::kDirectory,
                           .value_name = "DIR",
                           .help = "directory of the keys (default ~/.ssh/odyssey/CELL)"};
  return {
      {.name = "cell attach",
       .summary = "run a shell, or a command, in a cell that there is",
       .positionals = {cell, {.name = "CMD", .required = false, .rest = true}},
       .options = {{.name = "cwd",
                    .kind = ValueKind::kText,
                    .value_name = "PATH",
                    .help = "directory in the cell to start in (default /workspace)"},
                   DenialsOption()},
       .notes = "With a terminal if stdin is one. Exit codes as those of exec.",
       .usage_exit = kExitCannot,
       .run = Attach},
      {.name = "cell forward",
       .summary = "relay connections of this host to ports of a cell's 127.0.0.1",
       .positionals = {cell, {.name = "PORT", .rest = true}},
       .options = {{.name = "any-user", .help = "from every user of this host"}},
       .notes = "PORT is LOCAL:PORT, LOCAL at 127.0.0.1 and ::1 of this host; PORT for the same at "
                "both; 0:PORT for a free\none, which is printed; ADDRESS:LOCAL:PORT for another "
                "address, from which everyone who reaches it is\nadmitted. At a loopback address "
                "connections of this user and root are, and of the one who called sudo.\nGoes on "
                "until Ctrl-C or the end of the cell.",
       .run = Forward},
      {.name = "cell ssh-config",
       .summary = "print what ~/.ssh/config needs for ssh, scp, sftp and rsync into a cell",
       .positionals = {cell},
       .options = {{.name = "host",
                    .kind = ValueKind::kText,
                    .value_name = "NAME",
                    .help = "the name for ssh (default CELL)"},
                   keys},
       .notes = "Makes the keys if there are none.",
       .run = SshConfigCommand},
      {.name = "cell ssh-proxy",
       .summary = "run sshd of openssh-server in a cell, on stdin and stdout",
       .positionals = {cell},
       .options = {keys},
       .notes = "What ssh-config has as ProxyCommand.",
       .usage_exit = kExitCannot,
       .run = SshProxy},
  };
}

}  // namespace odyssey::ctl
