// bundle push, bundle pull, hub serve, hub keygen: odyssey-hub does the transfer.
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "common/message/message_json.h"
#include "common/os/file.h"
#include "ctl/base/child_program.h"
#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/program_path.h"
#include "ctl/base/sanitize.h"
#include "ctl/bundle/bundle_archive.h"
#include "ctl/bundle/bundle_upload.h"
#include "ctl/bundle/named_bundle.h"
#include "ctl/client/client.h"
#include "ctl/file/named_place.h"
#include "ctl/hub/hub_verbs.h"

namespace odyssey::ctl {
namespace {

constexpr char kProgram[] = "odyssey-hub";
constexpr std::string_view kForce = "force";  // of the import, which is not odyssey-hub's

// The call again, with `words`.
std::vector<std::string> ArgumentsOf(std::string_view verb, const Invocation& call,
                                     const std::vector<std::string>& words) {
  const std::string name(verb);
  const size_t space = name.find(' ');
  std::vector<std::string> out = {kProgram, name.substr(0, space), name.substr(space + 1)};
  if (call.console->json) out.push_back("--json");
  for (const Command& command : HubVerbs()) {
    if (command.name != verb) continue;
    for (const OptionSpec& option : command.options) {
      if (option.name == kForce) continue;
      for (const std::string& value : call.options.All(option.name)) {
        const std::string text = "--" + std::string(option.name);
        out.push_back(option.kind == ValueKind::kFlag ? text : text + "=" + value);
      }
    }
  }
  out.push_back("--");
  out.insert(out.end(), words.begin(), words.end());
  return out;
}

int Execute(std::string_view verb, const Invocation& call, const std::vector<std::string>& words) {
  const std::string what(verb);
  const Result<std::string> program = FindProgram(kProgram);
  if (!program.ok()) return call.console->Fail({what, program.status().message(), ""});
  const Status status = ExecuteProgram(*program, ArgumentsOf(verb, call, words));
  return call.console->Fail({what, status.message(), ""});
}

int ExecuteAgain(std::string_view verb, const Invocation& call) {
  return Execute(verb, call, call.options.words());
}

bool IsArchive(const std::string& source) {
  const Result<NamedPlace> place = OpenNamedPlace(source, Links::kFileItself);
  return place.ok() ? !place->is_directory() : IsArchiveName(source);
}

// odyssey-hub reads `archive` as a descriptor that it inherits.
int PushFile(const Invocation& call, const UniqueFd& archive) {
  if (fcntl(archive.get(), F_SETFD, 0) != 0) {
    const Status status = ErrnoStatus(errno, "inherit the archive");
    return call.console->Fail({std::string(kPushVerb), status.message(), ""});
  }
  return Execute(kPushVerb, call, {"/proc/self/fd/" + std::to_string(archive.get())});
}

int Push(const Invocation& call) {
  const Console& console = *call.console;
  const std::string source = call.options.Word(0);
  if (IsArchive(source)) return ExecuteAgain(kPushVerb, call);
  const std::string what = "bundle push " + source;
  const Result<NamedBundle> named = LookAtName(source);
  if (!named.ok()) return console.Fail({what, named.status().message(), ""});
  const Result<UniqueFd> file = MakeScratchFile();
  if (!file.ok()) return console.Fail({what, file.status().message(), ""});
  const ArchiveOpener open = [&](const agent::v1::Bundle&) -> Result<package::ByteSink> {
    return package::ByteSink([&](std::string_view bytes) { return WriteAll(file->get(), bytes); });
  };
  if (!named->directory.empty()) {
    const Status status = WritePackedArchive(named->directory, open);
    return status.ok() ? PushFile(call, *file) : console.Fail({what, status.message(), ""});
  }
  const Result<Client> client = Client::Connect(Daemon::kAgentd, call.locations);
  if (!client.ok()) return console.Fail(ExplainConnect(what, client.status()));
  const Status status = WriteInstalledArchive(client->channel(), named->reference, open);
  return status.ok() ? PushFile(call, *file) : console.Fail(client->Explain(what, status));
}

// Sends the archive that odyssey-hub writes after all its checks.
Status SendPulled(ChildProgram* hub, std::string_view first, const package::ByteSink& sink) {
  ODY_RETURN_IF_ERROR(sink(first));
  ODY_RETURN_IF_ERROR(package::ReadInPieces(hub->output(), "archive of odyssey-hub", sink));
  const int code = hub->Wait();
  if (code == kExitOk) return OkStatus();
  return Internal("odyssey-hub ended with exit code " + std::to_string(code));
}

int Install(const Invocation& call, ChildProgram hub) {
  const Console& console = *call.console;
  const std::string what = "bundle pull " + call.options.Word(0);
  char byte = 0;
  ssize_t count = 0;
  do count = read(hub.output(), &byte, 1);
  while (count < 0 && errno == EINTR);
  if (count != 1) {
    const int code = hub.Wait();  // it has reported why
    return code == kExitOk ? console.Fail({what, "odyssey-hub sent no archive", ""}) : code;
  }
  const Result<Client> client = Client::Connect(Daemon::kAgentd, call.locations);
  if (!client.ok()) return console.Fail(ExplainConnect(what, client.status()));
  ImportOptions options;
  options.set_force(call.options.Has(kForce));
  const Result<agent::v1::Bundle> bundle =
      UploadFrom(client->channel(), options, [&](const package::ByteSink& sink) {
        return SendPulled(&hub, {&byte, 1}, sink);
      });
  if (!bundle.ok()) return console.Fail(client->Explain(what, bundle.status()));
  if (console.json) {
    console.PrintJson(message::ToJson(*bundle));
  } else {
    const std::string line = "pulled " + NameOf(*bundle) + " " + bundle->path();
    console.PrintLine(Sanitize(line, Lines::kOne));
  }
  return kExitOk;
}

int Pull(const Invocation& call) {
  const Console& console = *call.console;
  const std::string what = "bundle pull " + call.options.Word(0);
  if (call.options.Has("archive")) {
    if (!call.options.Has(kForce)) return ExecuteAgain(kPullVerb, call);
    console.Fail({what, "--force replaces an installed bundle; --archive installs none", ""});
    return kExitUsage;
  }
  const Result<std::string> program = FindProgram(kProgram);
  if (!program.ok()) return console.Fail({what, program.status().message(), ""});
  Result<ChildProgram> hub =
      ChildProgram::Start(*program, ArgumentsOf(kPullVerb, call, call.options.words()));
  if (!hub.ok()) return console.Fail({what, hub.status().message(), ""});
  return Install(call, std::move(*hub));
}

int Serve(const Invocation& call) { return ExecuteAgain(kServeVerb, call); }
int Keygen(const Invocation& call) { return ExecuteAgain(kKeygenVerb, call); }

}  // namespace

std::vector<Command> HubCommands() {
  std::vector<Command> out = HubVerbs();
  for (Command& verb : out) {
    verb.run = verb.name == kPushVerb    ? Push
               : verb.name == kPullVerb  ? Pull
               : verb.name == kServeVerb ? Serve
                                         : Keygen;
  }
  return out;
}

}  // namespace odyssey::ctl
